"""Counts of exceedances by second from the store: the requests themselves stay there."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from otel_attrib.analytics.columns import Dimension, Floats
from otel_attrib.analytics.copies import repeated
from otel_attrib.analytics.exceedance import Work, fit_cells
from otel_attrib.analytics.filters import Filter
from otel_attrib.analytics.limit_grid import LimitGrid, grid_of
from otel_attrib.analytics.metric import Metric
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.store import Store

__all__ = ["Bins", "Series", "fetch_bins", "fetch_limits", "fetch_series"]

FITTED_TO = 100_000
LONGEST_US = 15 * 60 * 1_000_000
"""Requests that ran longer are counted no more: how far back the search for those just ended goes."""

Series = tuple[str, str]
"""Service and model."""


@dataclass(frozen=True, slots=True)
class Bins:
    """Counts of one series from second `first` on; `n` and `exceed` are one entry a second."""

    first: int
    n: Floats
    exceed: Floats

    def __iter__(self) -> Iterator[tuple[float, float, float]]:
        """Yield the start of each second, its rows and its exceedances."""
        for second, (n, exceed) in enumerate(zip(self.n.tolist(), self.exceed.tolist(), strict=True)):
            yield float(self.first + second), n, exceed


def fetch_limits(store: Store, metric: Metric, window: Window, where: Filter, level: float) -> LimitGrid:
    """Fit the limits to the window's requests (one in so many that about 100,000 are left)."""
    bound = {**window.bounds_us(), **where.parameters()}
    (size,) = store.rows(statement("period_size", where=where.sql()), bound)
    sql = statement("watch_sample", value=metric.value, values=metric.values, where=where.sql())
    one_in = -(-int(size["requests"]) // FITTED_TO) or 1
    table = repeated(store.arrow(sql, {**bound, "one_in": one_in}))
    sizes = ("output_tokens", "prompt_tokens") if metric.name == "e2e" else ("prompt_tokens",)
    work = Work(Dimension.of(table["model"]), tuple(_floats(table, name) for name in sizes))
    return grid_of(fit_cells(work, _floats(table, "ms"), level))


def fetch_bins(
    store: Store, metric: Metric, window: Window, where: Filter, limits: LimitGrid
) -> dict[Series, Bins]:
    """Count the requests that ended in each whole second of the window, by service and model."""
    sql = statement(
        "watch_counts",
        value=metric.value,
        values=metric.values,
        limit=limits.sql(),
        where=where.sql(),
    )
    parameters = {
        **window.bounds_us(),
        **where.parameters(),
        **limits.parameters(),
        "longest_us": LONGEST_US,
    }
    bounds = window.bounds_us()
    first, last = bounds["from_us"] // 1_000_000, -(-bounds["to_us"] // 1_000_000)
    bins: dict[Series, Bins] = {}
    for row in store.rows(sql, parameters):
        key = (row["service"], row["model"])
        if key not in bins:
            bins[key] = Bins(first, np.zeros(last - first), np.zeros(last - first))
        bins[key].n[row["second"] - first] = row["n"]
        bins[key].exceed[row["second"] - first] = row["exceed"]
    return bins


def fetch_series(store: Store, window: Window, where: Filter, least: int) -> set[Series]:
    """Return the services and models that had at least so many requests in the window."""
    bound = {**window.bounds_us(), **where.parameters(), "least": least}
    rows = store.rows(statement("watch_series", where=where.sql()), bound)
    return {(row["service"], row["model"]) for row in rows}


def _floats(table: pa.Table, name: str) -> Floats:
    numbers: Floats = table[name].to_numpy(zero_copy_only=False).astype(np.float64)
    return numbers
