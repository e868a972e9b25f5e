"""Counters of one window as levels and rates on a grid of time: what evidence is read from.

`read_board` takes the `samples` of a window. A gauge becomes its time-weighted mean in each cell of time, a
total its increase a second (a fall is a restart: what it shows after it counts from nought). Series that
share a counter, node and device are added (totals, and what `counter_rules.SUMMED` names) or averaged (other
gauges); of several sources of one counter one is read, the same on both sides of a comparison. A cell without
a reading is NaN, which is *missing*, never nought; a gauge holds its last reading for six cells, so that a
counter read every 10 s or minute still covers the grid. A reading above `Counter.most` is no measurement:
refused and counted.

Cost: one sort of the samples; 1M rows in under a second on one core.
"""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from otel_attrib.analytics.columns import Floats, Ints
from otel_attrib.analytics.evidence.series import Readings, one_source, read_series
from otel_attrib.analytics.totals import steps
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.counter_rules import PASSING, summed, wraps
from otel_attrib.schema.counters import COUNTERS, Counter

__all__ = ["CELL_US", "MOST_CELLS", "Board", "Grid", "grid_of", "read_board", "read_boards"]

CELL_US = 10_000_000
MOST_CELLS = 120
HELD_CELLS = 6

Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells of equal length from the start of a window; the last one may reach past its end."""

    start_us: int
    cell_us: int
    cells: int

    def cell_of(self, time_us: Ints) -> Ints:
        """Return (n,) cell numbers, clipped into the grid."""
        cells: Ints = np.clip((time_us - self.start_us) // self.cell_us, 0, self.cells - 1)
        return cells

    def edges(self) -> Ints:
        """Return the (cells + 1,) times in µs between which the cells lie."""
        edges: Ints = self.start_us + self.cell_us * np.arange(self.cells + 1, dtype=np.int64)
        return edges


def grid_of(window: Window) -> Grid:
    """Return 10 s cells, longer ones where that would be more than 120."""
    bounds = window.bounds_us()
    length = bounds["to_us"] - bounds["from_us"]
    cell = max(CELL_US, -(-length // MOST_CELLS))
    return Grid(bounds["from_us"], cell, max(1, -(-length // cell)))


@dataclass(frozen=True)
class Board:
    """Levels and rates by counter key: `values[key]` is (places, cells), `places[key]` their (node, device).

    `device` is empty for a host's counter. `refused` counts readings above what the counter can be;
    `uncertainty_us` is the largest that any sample says of its clock, None where none says.
    """

    grid: Grid
    places: dict[str, tuple[Place, ...]] = field(default_factory=dict)
    values: dict[str, Floats] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    uncertainty_us: float | None = None

    def take(self, key: str, wanted: tuple[Place, ...]) -> Floats:
        """Return (len(wanted), cells) of one counter; NaN where it was not read."""
        index = {place: row for row, place in enumerate(self.places.get(key, ()))}
        out = np.full((len(wanted), self.grid.cells), np.nan)
        for row, place in enumerate(wanted):
            if place in index:
                out[row] = self.values[key][index[place]]
        return out


def read_board(samples: pa.Table, window: Window) -> Board:
    """Put every known counter of `samples` on the grid of `window`."""
    return read_boards((samples, window))[0]


def read_boards(*sides: tuple[pa.Table, Window]) -> tuple[Board, ...]:
    """Put the samples of several windows on their grids, each counter from the same source everywhere."""
    read = [read_series(samples) for samples, _ in sides]
    chosen = one_source(*(readings for readings, _ in read))
    return tuple(
        _board(readings, window, uncertainty)
        for readings, (_, window), (_, uncertainty) in zip(chosen, sides, read, strict=True)
    )


def _board(readings: Readings, window: Window, uncertainty: float | None) -> Board:
    grid = grid_of(window)
    places: dict[str, tuple[Place, ...]] = {}
    values: dict[str, Floats] = {}
    refused: dict[str, int] = {}
    for code, counter in enumerate(COUNTERS):
        mine = readings.of(code)
        if not mine.size:
            continue
        bad = _impossible(mine, counter)
        if bad.any():
            refused[counter.key] = int(bad.sum())
            mine = mine.take(~bad)
        if mine.size:
            places[counter.key], values[counter.key] = _lay(mine, counter, grid)
    return Board(grid, places, values, refused, uncertainty)


def _impossible(readings: Readings, counter: Counter) -> NDArray[np.bool_]:
    return (
        ~np.isfinite(readings.value)
        | (readings.value < 0)
        | ((readings.value > counter.most) if counter.kind == "gauge" else False)
    )


def _lay(readings: Readings, counter: Counter, grid: Grid) -> tuple[tuple[Place, ...], Floats]:
    """Return the places of one counter and its (places, cells) levels or rates."""
    series, where = readings.series()
    if counter.kind == "total":
        by_series = _rates(readings, series, grid, wraps(counter))
    else:
        by_series = _levels(readings, series, grid)
    places, owner = _places(readings, where, counter.per_device)
    known = ~np.isnan(by_series)
    shape = (len(places), grid.cells)
    total, count = np.zeros(shape), np.zeros(shape)
    np.add.at(total, owner, np.where(known, by_series, 0.0))
    np.add.at(count, owner, known)
    scale = np.where(count > 0, 1.0 if summed(counter) else 1 / np.maximum(count, 1), np.nan)
    most = 1.0 if counter.key in PASSING else counter.most
    return places, np.minimum(total * scale, most)


def _places(readings: Readings, first: Ints, per_device: bool) -> tuple[tuple[Place, ...], Ints]:
    """Return the distinct places of the series and (series,) which of them each belongs to."""
    named = [
        (readings.nodes[readings.node[row]], readings.devices[readings.device[row]] if per_device else "")
        for row in first
    ]
    places = tuple(sorted(set(named)))
    index = {place: number for number, place in enumerate(places)}
    return places, np.array([index[name] for name in named], dtype=np.int64)


def _levels(readings: Readings, series: Ints, grid: Grid) -> Floats:
    """Return (series, cells) means weighted by how long each reading held, at most one cell."""
    following = np.append(readings.time_us[1:], readings.time_us[-1:])
    same = np.append(series[1:] == series[:-1], False)
    held = np.where(same, following - readings.time_us, grid.cell_us).clip(1, grid.cell_us).astype(float)
    inside = (readings.time_us >= grid.start_us) & (readings.time_us < grid.edges()[-1])
    cell = series * grid.cells + grid.cell_of(readings.time_us)
    size = (int(series[-1]) + 1) * grid.cells
    weight = np.bincount(cell[inside], held[inside], size)
    total = np.bincount(cell[inside], (held * readings.value)[inside], size)
    levels = np.full(size, np.nan)
    np.divide(total, weight, out=levels, where=weight > 0)
    return _hold(levels.reshape(-1, grid.cells))


def _hold(levels: Floats) -> Floats:
    """Carry each reading on into at most six cells that have none."""
    cells = np.arange(levels.shape[1])
    last = np.maximum.accumulate(np.where(np.isnan(levels), -HELD_CELLS - 1, cells), axis=1)
    held = np.take_along_axis(levels, np.maximum(last, 0), axis=1)
    return np.where(cells - last <= HELD_CELLS, held, np.nan)


def _rates(readings: Readings, series: Ints, grid: Grid, wrapping: bool) -> Floats:
    """Return (series, cells) increases a second, NaN outside the first and last reading of a series."""
    step = np.append(0.0, steps(readings.value, wrapping))
    begins = np.append(True, series[1:] != series[:-1])
    grown = np.cumsum(np.where(begins, 0.0, step))
    starts = np.flatnonzero(begins)
    ends = np.append(starts[1:], series.size) - 1
    edges = grid.edges()
    asked = np.clip(edges[None, :], readings.time_us[starts][:, None], readings.time_us[ends][:, None])
    at = _interpolate(readings.time_us, grown, series, asked)
    seconds = np.diff(asked, axis=1) / 1e6
    rates = np.full(seconds.shape, np.nan)
    # A sliver of a cell at the end of a series says too little of the cell.
    np.divide(np.diff(at, axis=1), seconds, out=rates, where=seconds > grid.cell_us / 4e6)
    return rates


def _interpolate(time_us: Ints, grown: Floats, series: Ints, asked: Ints) -> Floats:
    """Return the (series, times) totals, linear between readings; `asked` lies within each series."""
    origin = int(time_us.min())
    span = int(time_us.max()) - origin + 1
    keys = series * span + (time_us - origin)
    wanted = np.arange(asked.shape[0])[:, None] * span + (asked - origin)
    right = np.clip(np.searchsorted(keys, wanted, side="left"), 1, max(1, keys.size - 1))
    right = np.minimum(right, keys.size - 1)
    left = np.where(keys[right] == wanted, right, np.maximum(right - 1, 0))
    width = np.maximum(time_us[right] - time_us[left], 1)
    part = np.clip((asked - time_us[left]) / width, 0.0, 1.0)
    out: Floats = grown[left] + part * (grown[right] - grown[left])
    return out
