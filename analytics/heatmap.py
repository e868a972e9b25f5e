"""Latency heat map: how many values fell into each bin in each step of time, and the line of a quantile.

Counts come from the bins of `requests_60s`, where a step is whole minutes and the condition names dimensions
that are rolled up; else from the rows, of which there may be `VALUES_AT_MOST`. Both give the same counts.
A row counts as often as its weight says. The line is `analytics.quantiles` with window and step equal to a
column's length, so that it is the number that `otel-attrib quantiles` prints.

Columns begin at multiples of the step since 1970 and are whole: the first and the last reach beyond the span
asked for where it does not begin or end on one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import isfinite
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.filters import EVERY_REQUEST, ROLLED_UP, Filter
from otel_attrib.analytics.latency_bins import BINS, edge_ms, grouped
from otel_attrib.analytics.metric import Metric
from otel_attrib.analytics.quantiles import STATE_SECONDS, Bound, Sliding, slide_table
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.windows import Window
from otel_attrib.errors import UsageError
from otel_attrib.schema.store import Store

__all__ = ["COLUMNS_AT_MOST", "VALUES_AT_MOST", "Heatmap", "HeatmapAsked", "fitting_step", "heatmap"]

MINUTE = 60
COLUMNS_AT_MOST = 1500
VALUES_AT_MOST = 5_000_000
STEPS = (10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 604_800)
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class HeatmapAsked:
    """A heat map as asked; `step` in whole seconds, at most `bins` rows."""

    metric: Metric
    level: float
    step: int
    bins: int
    span: Window
    where: Filter = EVERY_REQUEST

    def on_grid(self) -> "HeatmapAsked":
        """Return it with the step rounded up to whole states and the span to whole columns."""
        step = -(-self.step // STATE_SECONDS) * STATE_SECONDS
        first = int(self.span.start.timestamp()) // step * step
        last = -int(-self.span.end.timestamp() // step) * step
        return replace(self, step=step, span=Window(_time(first), _time(last)))

    def check(self) -> None:
        """Refuse what would not fit."""
        if not 1 <= self.bins <= BINS:
            raise UsageError(f"{self.bins} bins: give 1 to {BINS}")
        columns = self.span.length.total_seconds() / self.step
        if columns > COLUMNS_AT_MOST:
            raise UsageError(
                f"{columns:.0f} columns are more than {COLUMNS_AT_MOST}: take a longer step or a shorter span"
            )

    @property
    def rolled_up(self) -> bool:
        """Whether the states hold every dimension that the condition names."""
        return self.where.rolled_up

    @property
    def source(self) -> Literal["states", "rows"]:
        """Where the counts come from."""
        return "states" if self.step % MINUTE == 0 and self.rolled_up else "rows"

    def line(self) -> Sliding:
        """The question whose answer is the line."""
        exact = not self.rolled_up
        return Sliding(self.metric, self.level, self.step, self.step, self.span, (), self.where, exact)


@dataclass(frozen=True, slots=True)
class Heatmap:
    """What was found: cell i holds `counts[i]` values of column `columns[i]` and row `rows[i]`.

    Row j is [edges_ms[j], edges_ms[j+1]); `line_ms` has one number a column, None where nothing was measured.
    """

    asked: HeatmapAsked
    edges_ms: tuple[float, ...]
    columns: Counts
    rows: Counts
    counts: Counts
    line_ms: tuple[float | None, ...]
    bound: Bound

    @property
    def n(self) -> int:
        """Return how many values there are."""
        return int(self.counts.sum())

    @property
    def starts(self) -> list[datetime]:
        """Return when each column begins."""
        first = int(self.asked.span.start.timestamp())
        return [_time(first + self.asked.step * column) for column in range(len(self.line_ms))]

    def matrix(self) -> Counts:
        """Return the counts as rows × columns."""
        grid = np.zeros((max(len(self.edges_ms) - 1, 0), len(self.line_ms)), np.int64)
        grid[self.rows, self.columns] = self.counts
        return grid


def heatmap(store: Store, asked: HeatmapAsked) -> Heatmap:
    """Count every cell of `asked.on_grid()`, and take the quantile of every column."""
    whole = asked.on_grid()
    whole.check()
    columns, bins, counts = _counted(store, whole)
    edges, rows = _edges(bins, whole.bins)
    cells = _merged(columns, rows, counts, max(len(edges) - 1, 1))
    return Heatmap(whole, edges, *cells, _line(store, whole), whole.line().bound())


def fitting_step(store: Store, asked: HeatmapAsked, most: int) -> int:
    """Return the shortest usual step of at most `most` columns; a minute at least where rows are many."""
    seconds = asked.span.length.total_seconds()
    step = next((step for step in STEPS if seconds / step <= most), STEPS[-1])
    short = replace(asked, step=step)
    return step if step % MINUTE == 0 or _values(store, short.on_grid()) <= VALUES_AT_MOST else MINUTE


def _counted(store: Store, whole: HeatmapAsked) -> tuple[Counts, Counts, Counts]:
    """Return columns, bins and counts of the cells that hold something."""
    metric, where = whole.metric, whole.where.sql()
    if whole.source == "states":
        sql = statement("heatmap_states", bins=f"{metric.state}_bins", where=where)
    else:
        _check_few(store, whole)
        sql = statement("heatmap_rows", value=metric.value, values=metric.values, where=where)
    table = store.arrow(sql, _parameters(whole))
    columns, bins, counts = (table[name].to_numpy().astype(np.int64) for name in ("at", "bin", "n"))
    return columns, bins, counts


def _parameters(whole: HeatmapAsked) -> dict[str, Any]:
    first, last = (int(time.timestamp()) for time in (whole.span.start, whole.span.end))
    return {**whole.where.parameters(), "first": first, "last": last, "step": whole.step}


def _check_few(store: Store, whole: HeatmapAsked) -> None:
    values = _values(store, whole)
    if values > VALUES_AT_MOST:
        if whole.rolled_up:
            why, instead = f"a step of {whole.step} s", "a step of whole minutes"
        else:
            why, instead = f"a condition on {_unrolled(whole)}", f"choose by {', '.join(ROLLED_UP)}"
        raise UsageError(
            f"{values:,} values are more than the {VALUES_AT_MOST:,} that are counted one by one, which"
            f" {why} needs: take a shorter span, or {instead}"
        )


def _unrolled(whole: HeatmapAsked) -> str:
    return next(name for name in whole.where.names() if name not in ROLLED_UP)


def _values(store: Store, whole: HeatmapAsked) -> int:
    values = "length(gaps_us)" if whole.metric.name == "tbt" else "1"
    sql = statement("heatmap_values", values=values, where=whole.where.sql())
    (row,) = store.rows(sql, _parameters(whole))
    return int(row["n"])


def _edges(bins: Counts, most: int) -> tuple[tuple[float, ...], Counts]:
    """Return the edges of the rows shown, and each cell's row."""
    if not bins.size:
        return (), bins
    size, shown = grouped(int(bins.min()), int(bins.max()), most)
    return tuple(edge_ms(size * k) for k in (*shown, shown.stop)), bins // size - shown.start


def _merged(columns: Counts, rows: Counts, counts: Counts, height: int) -> tuple[Counts, Counts, Counts]:
    """Add up the cells that fell together; in order of column and row."""
    places, index = np.unique(columns * height + rows, return_inverse=True)
    totals = np.zeros(places.size, np.int64)
    np.add.at(totals, index, counts)
    return places // height, places % height, totals


def _line(store: Store, whole: HeatmapAsked) -> tuple[float | None, ...]:
    table = slide_table(store, whole.line())
    first = int(whole.span.start.timestamp())
    found = [None] * int(whole.span.length.total_seconds() // whole.step)
    return tuple(_placed(found, table["window_end"].to_pylist(), table["ms"].to_pylist(), first, whole.step))


def _placed(
    line: list[Any], ends: Sequence[int], values: Sequence[float], first: int, step: int
) -> list[float | None]:
    for end, ms in zip(ends, values, strict=True):
        column = (int(end) - first) // step - 1
        if 0 <= column < len(line) and isfinite(ms):
            line[column] = ms
    return line


def _time(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
