"""How long each stage takes, by dimension, in one window: mean, median, P99, and how often it is missing.

Median and P99 are DDSketch numbers, within 1 % of the value at their rank; means are exact. The mean is
over the requests that carry the stage; `missing` is the share of the measured requests that do not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from otel_attrib.analytics.filters import DIMENSIONS, EVERY_REQUEST, Filter, check_dimensions
from otel_attrib.analytics.metric import Metric
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.windows import Window
from otel_attrib.errors import UsageError
from otel_attrib.schema.store import Store

__all__ = ["StageRow", "stage_table"]


@dataclass(frozen=True, slots=True)
class StageRow:
    """One stage of one group; times in ms, None where no request carries the stage."""

    group: tuple[str, ...]
    stage: str
    requests: int
    missing: float
    mean: float | None
    p50: float | None
    p99: float | None


def stage_table(
    store: Store, metric: Metric, window: Window, by: Sequence[str] = (), where: Filter = EVERY_REQUEST
) -> list[StageRow]:
    """Return one row for each group and stage, stages in the order of a request's life."""
    if not metric.parts:
        raise UsageError(f"{metric.title} has no stages; choose ttft, tpot or e2e")
    check_dimensions(by, DIMENSIONS)
    sql = statement(
        "stage_table",
        dimensions="".join(f"{name}, " for name in by),
        names="[" + ", ".join(f"'{name}'" for name in metric.stages) + "]",
        columns="[" + ", ".join(f"CAST({sql}, 'Nullable(Float64)')" for _, sql in metric.parts) + "]",
        values=metric.values,
        where=where.sql(),
    )
    rows = [_row(row, by) for row in store.rows(sql, {**window.bounds_us(), **where.parameters()})]
    return sorted(rows, key=lambda row: (row.group, metric.stages.index(row.stage)))


def _row(row: dict[str, Any], by: Sequence[str]) -> StageRow:
    requests, observed = int(row["requests"]), int(row["observed"])
    p50, p99 = row["quantiles_ms"] if observed else (None, None)
    return StageRow(
        group=tuple(str(row[name]) for name in by),
        stage=str(row["stage"]),
        requests=requests,
        missing=1 - observed / requests,
        mean=row["total_ms"] / observed if observed else None,
        p50=p50,
        p99=p99,
    )
