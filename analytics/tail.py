"""The rows of one window that can weigh on its quantile, and what the quantile is made of.

Guarantee: the parts of a composition add up to its quantile (they are sums of the same rows with the
same weights, and a row's parts add up to its value because `outside` is what its stages leave over).
A stage that was not observed counts as nothing there, so its time stands in `outside`.

Cost: ranks that cannot matter stay in the store. Leaving out a block moves the quantile by up to the
block's share of the rows, so the fetched range is that much wider than the weights alone ask for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from otel_attrib.analytics import harrell_davis
from otel_attrib.analytics.blocks import Counts, block_parameters
from otel_attrib.analytics.filters import Filter
from otel_attrib.analytics.intervals import Estimate, jackknife
from otel_attrib.analytics.metric import OUTSIDE, Metric
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.store import Store

__all__ = ["Composition", "Tail", "fetch_tail"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
EVERYTHING = (-np.inf, np.inf)


@dataclass(frozen=True, slots=True)
class Composition:
    """A quantile and its parts in ms, `outside` last among them."""

    quantile: Estimate
    stages: dict[str, Estimate]

    @property
    def sum_error(self) -> float:
        """Return by how many ms the parts miss the quantile."""
        return abs(sum(part.value for part in self.stages.values()) - self.quantile.value)


@dataclass(frozen=True)
class Tail:
    """Rows in order of their value, from rank `first` of a window's `sizes.sum()` rows.

    `parts` has one column a stage and `outside` as the last; `block` says which entry of `sizes` (the
    block's rows) and `below` (its rows ranked before `first`) a row belongs to. All times in ms.
    """

    names: tuple[str, ...]
    values: Floats
    parts: Floats
    trace_ids: tuple[str, ...]
    block: Ints
    sizes: Ints
    below: Ints

    @property
    def n(self) -> int:
        """Return the number of rows in the whole window."""
        return int(self.sizes.sum())

    @cached_property
    def columns(self) -> Floats:
        """Return value and parts side by side."""
        return np.column_stack([self.values, self.parts])

    def _keeping(self, without: int | None) -> tuple[int, int, NDArray[np.bool_]]:
        """Return n, the rank of the first row, and which rows stay, when a block is left out."""
        if without is None:
            return self.n, 1 + int(self.below.sum()), np.ones(self.values.size, dtype=np.bool_)
        n, below = self.n - int(self.sizes[without]), int(self.below.sum() - self.below[without])
        return n, 1 + below, self.block != without

    def covers(self, level: float) -> bool:
        """Whether every row was fetched that the quantile weighs, whichever block is left out."""
        return all(self._covers(level, block) for block in (None, *range(self.sizes.size)))

    def _covers(self, level: float, without: int | None) -> bool:
        n, first, kept = self._keeping(without)
        low, high = harrell_davis.rank_window(n, level) if n else (first, first - 1)
        return first <= low and high < first + int(kept.sum())

    def weights(self, level: float) -> tuple[slice, Floats]:
        """Return which rows weigh on the quantile, and how much."""
        n, first, _ = self._keeping(None)
        low, high = harrell_davis.rank_window(n, level)
        return slice(low - first, high - first + 1), harrell_davis.weights(n, level, low, high)

    def composition(self, level: float) -> Composition:
        """Return the quantile and its parts with their jackknife variances."""
        whole = self._mixed(level, None)
        without = np.array([self._mixed(level, block) for block in range(self.sizes.size)])
        estimates = jackknife(whole, without, self.sizes)
        return Composition(estimates[0], dict(zip((*self.names, OUTSIDE), estimates[1:], strict=True)))

    def _mixed(self, level: float, without: int | None) -> Floats:
        n, first, kept = self._keeping(without)
        if n == 0:  # the only block: the jackknife makes nothing of it
            return np.zeros(self.columns.shape[1])
        low, high = harrell_davis.rank_window(n, level)
        rows = self.columns[kept][low - first : high - first + 1]
        return harrell_davis.composition(harrell_davis.weights(n, level, low, high), rows)

    def fold(self, stages: Sequence[str]) -> "Tail":
        """Return the same rows with `stages` counted into `outside`."""
        parts = self.parts.copy()
        for stage in stages:
            column = self.names.index(stage)
            parts[:, -1] += parts[:, column]
            parts[:, column] = 0.0
        return Tail(self.names, self.values, parts, self.trace_ids, self.block, self.sizes, self.below)


def fetch_tail(
    store: Store, metric: Metric, window: Window, where: Filter, level: float, counts: Counts
) -> Tail:
    """Fetch the rows of `window` that its quantile at `level`, and each of its jackknife's, needs."""
    limits = _limits(store, metric, window, where, level, counts)
    tail = _fetch(store, metric, window, where, limits)
    # Rows may have arrived between the statements.
    return tail if tail.covers(level) else _fetch(store, metric, window, where, EVERYTHING)


def _limits(
    store: Store, metric: Metric, window: Window, where: Filter, level: float, counts: Counts
) -> tuple[float, float]:
    n, largest = counts.measured, int(counts.sizes.max())
    if n <= largest:
        return EVERYTHING
    slack = n // 100
    low = harrell_davis.rank_window(n - largest, level)[0] - slack
    high = harrell_davis.rank_window(n - largest, level)[1] + largest + slack
    levels = {"low_level": max(0.0, (low - 1.5) / n), "high_level": min(1.0, (high + 0.5) / n)}
    sql = statement("tail_limits", value=metric.value, values=metric.values, where=where.sql())
    (row,) = store.rows(sql, {**window.bounds_us(), **where.parameters(), **levels})
    return (
        float(row["low"]) if low > 1 else -np.inf,
        float(row["high"]) if high < n else np.inf,
    )


def _fetch(store: Store, metric: Metric, window: Window, where: Filter, limits: tuple[float, float]) -> Tail:
    columns = ", ".join(f"toFloat64(ifNull({sql}, 0))" for _, sql in metric.parts)
    sql = statement(
        "tail_rows",
        value=metric.value,
        values=metric.values,
        parts=f"[{columns}]" if columns else "CAST([], 'Array(Float64)')",
        where=where.sql(),
    )
    low, high = (float(np.nan_to_num(limit, posinf=1e300, neginf=-1e300)) for limit in limits)
    parameters = {**block_parameters(window), **where.parameters(), "low": low, "high": high}
    return _tail_of(store.arrow(sql, parameters), metric.stages)


def _tail_of(table: pa.Table, names: tuple[str, ...]) -> Tail:
    lists = table["fetched"].combine_chunks()
    block = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    value, parts, trace_id = pc.list_flatten(lists).flatten()
    values = value.to_numpy(zero_copy_only=False) / 1000
    stages = pc.list_flatten(parts).to_numpy(zero_copy_only=False).reshape(values.size, len(names)) / 1000
    ids = np.array(trace_id.to_pylist(), dtype=object)
    order = np.lexsort((ids.astype(str), values))
    values, stages = values[order], stages[order]
    return Tail(
        names=names,
        values=values,
        parts=np.column_stack([stages, values - stages.sum(axis=1)]),
        trace_ids=tuple(ids[order]),
        block=block[order],
        sizes=table["size"].to_numpy().astype(np.int64),
        below=table["below"].to_numpy().astype(np.int64),
    )
