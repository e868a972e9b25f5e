"""How many values a window holds, before anything is fetched of it."""

from dataclasses import dataclass

from otel_attrib.analytics.filters import Filter
from otel_attrib.analytics.metric import Metric
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.store import Store

__all__ = ["Size", "measure"]


@dataclass(frozen=True, slots=True)
class Size:
    """Requests, and about how many values of the metric they give."""

    requests: int
    values: int


def measure(store: Store, metric: Metric, window: Window, where: Filter) -> Size:
    """Measure a window by its 10 s states where they know the filter, else by its rows."""
    bounds = window.bounds_us()
    if where.rolled_up:
        seconds = {"first": bounds["from_us"] // 1_000_000, "last": -(-bounds["to_us"] // 1_000_000)}
        sql = statement("period_size_states", where=where.sql())
        (row,) = store.rows(sql, {**seconds, **where.parameters()})
    else:
        sql = statement("period_size", where=where.sql())
        (row,) = store.rows(sql, {**bounds, **where.parameters()})
    requests = int(row["requests"])
    gaps = max(0, int(row["tokens"]) - requests)
    return Size(requests, gaps if metric.name == "tbt" else requests)
