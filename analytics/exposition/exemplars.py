"""A recent request for each bucket of a histogram, so that a point on a P99 line leads to a trace."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
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

    def of(self, metric: str, key: Mapping[str, str], bounds_ms: Sequence[float]) -> dict[int, Exemplar]:
        """Return the newest request of each bucket, by the bucket's number; `key` is column → value."""
        found: dict[int, tuple[int, Exemplar]] = {}
        for row in self.rows:
            if row["metric"] != metric or any(row[column] != value for column, value in key.items()):
                continue
            bucket = bisect_left(bounds_ms, row["us"] / 1000)
            if bucket not in found or found[bucket][0] < row["at_us"]:
                seconds = row["us"] / 1e6
                shown = Exemplar({"trace_id": row["trace_id"]}, seconds, row["at_us"] / 1e6)
                found[bucket] = row["at_us"], shown
        return {bucket: exemplar for bucket, (_, exemplar) in found.items()}


def fetch_exemplars(store: Store, columns: str = "") -> Exemplars:
    """Return the newest requests of each size of the last two minutes; `columns` as in the histogram."""
    bounds = {"max_rows_to_read": ROWS, "read_overflow_mode": "break"}
    return Exemplars(store.rows(statement("latency_exemplars", more=columns), {"seconds": SECONDS}, bounds))
