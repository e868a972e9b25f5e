"""A recent request for each bucket of a histogram, so that a point on a P99 line leads to a trace."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prometheus_client.samples import Exemplar

from otel_attrib.analytics.statement import statement
from otel_attrib.schema.store import Store

__all__ = ["Exemplars", "fetch_exemplars"]

SECONDS = 120
# What a scrape may read at most; what is left over misses nothing but exemplars.
ROWS = 2_000_000


@dataclass(frozen=True, slots=True)
class Exemplars:
    """The newest requests of each size, as rows of the statement."""

    rows: Sequence[Mapping[str, Any]]

    def by(
        self, metric: str, columns: Iterable[str], bounds_ms: Sequence[float]
    ) -> dict[tuple[str, ...], dict[int, Exemplar]]:
        """Return the newest request of each bucket, by its number, for each series: values of `columns`."""
        tells_apart = tuple(columns)
        found: dict[tuple[str, ...], dict[int, Exemplar]] = {}
        for row in sorted(self.rows, key=lambda row: int(row["at_us"])):  # so the newest stays
            if row["metric"] == metric:
                buckets = found.setdefault(tuple(row[column] for column in tells_apart), {})
                buckets[bisect_left(bounds_ms, row["us"] / 1000)] = _shown(row)
        return found


def _shown(row: Mapping[str, Any]) -> Exemplar:
    return Exemplar({"trace_id": row["trace_id"]}, row["us"] / 1e6, row["at_us"] / 1e6)


def fetch_exemplars(store: Store, columns: str = "") -> Exemplars:
    """Return the newest requests of each size of the last two minutes; `columns` as in the histogram."""
    bounds = {"max_rows_to_read": ROWS, "read_overflow_mode": "break"}
    return Exemplars(store.rows(statement("latency_exemplars", more=columns), {"seconds": SECONDS}, bounds))
