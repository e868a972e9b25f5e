"""Both windows of a comparison, and the rows of the current one that the path between them passes.

Of large windows the maps that undo the change are fitted on samples. They say which rows of the whole
current window can matter; where those are few enough they are fetched too, and the path is exact over the
window: `change.whole` holds the certificate. A baseline is never needed beyond its sample and its quantile.
"""

from dataclasses import replace

import numpy as np

from otel_attrib.analytics import harrell_davis
from otel_attrib.analytics.blocks import block_ids
from otel_attrib.analytics.change.decompose import Change, decompose
from otel_attrib.analytics.change.whole import UpperRows
from otel_attrib.analytics.copies import WEIGHT, repeated
from otel_attrib.analytics.fetch.majorant import majorant_of
from otel_attrib.analytics.fetch.period import CAP, fetch_period
from otel_attrib.analytics.fetch.plain import plain
from otel_attrib.analytics.filters import Filter
from otel_attrib.analytics.folded import fold_pair
from otel_attrib.analytics.metric import Metric
from otel_attrib.analytics.period import Period, rows_of
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.store import Store

__all__ = ["UPPER_AT_MOST", "fetch_pair"]

UPPER_AT_MOST = 2_000_000
"""The most rows of the current window that are fetched for the certificate."""


def fetch_pair(
    store: Store,
    metric: Metric,
    windows: tuple[Window, Window],
    where: tuple[Filter, Filter],
    level: float = 0.99,
    exact: bool = False,
    cap: int = CAP,
    states: bool | None = None,
) -> tuple[Period, Period]:
    """Fetch baseline and current window; the options are those of `fetch_period`."""
    baseline, current = (
        fetch_period(store, metric, window, chosen, level, exact, cap, states)
        for window, chosen in zip(windows, where, strict=True)
    )
    if not _worth(metric, baseline, current):
        return baseline, current
    return baseline, replace(current, upper=_fetch_upper(store, metric, baseline, current, where[1], level))


def _worth(metric: Metric, baseline: Period, current: Period) -> bool:
    """Whether the current window is a sample closed on its exact quantile."""
    exact = current.displayed is not None and current.bound == 0
    return bool(exact and metric.name != "tbt" and baseline.rows.n and current.rows.n)


def _fetch_upper(
    store: Store, metric: Metric, baseline: Period, current: Period, where: Filter, level: float
) -> UpperRows | None:
    before, after = (period.rows for period in fold_pair(baseline, current, metric))
    blocks = (block_ids(before, baseline.window), block_ids(after, current.window))
    change = decompose(before, after, level, *blocks)
    repaired = change.repaired.sum(axis=1)
    first = harrell_davis.rank_window(after.n, level)[0]
    floor = float(np.partition(np.minimum(repaired, after.values), first - 1)[first - 1])
    more = majorant_of(change, metric, after)
    expected = float((after.values + more.ms >= floor).mean()) * current.rows.total
    if expected > UPPER_AT_MOST:
        return None
    sql = statement(
        "period_upper", columns=_columns(metric, change), where=where.sql(), value=metric.value, more=more.sql
    )
    parameters = {**current.window.bounds_us(), **where.parameters(), **more.parameters}
    table = repeated(plain(store.arrow(sql, {**parameters, "floor_us": floor * 1000})))
    return UpperRows(rows_of(table, metric, current.rows.total), floor)


def _columns(metric: Metric, change: Change) -> str:
    """Return the columns that parts of the metric, sizes and maps need."""
    stages = [sql if sql.isidentifier() else f"{name}_us" for name, sql in metric.parts]
    uneven = [stage.partition.groups.names for stage in change.back.stages if stage.partition]
    places = sorted({name for names in uneven for name in names})
    return ", ".join(
        ["time", "model", *places, "prompt_tokens", "output_tokens", metric.value, *stages, WEIGHT]
    )
