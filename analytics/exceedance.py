"""Which requests are slower than their like used to be: 1{T > q_A(level | cell of the work)}.

Cells are model × size of the work: bins of log2 prompt tokens, for E2E of log2 output tokens too, merged
until each has 2/(1 − level) baseline rows. The limit of a cell is the baseline's quantile in it, so the
expected rate is 1 − level in every cell whatever the mix of work, and a longer prompt is not an exceedance.
Within a cell the limit follows the size along the baseline's own curve, since a shift inside a wide cell
would show otherwise. The quantile is at rank (n + 1)·level (Weibull), which a new row exceeds with
probability 1 − level exactly, not only on average over large cells.

Not judged, rather than judged by somebody else's limit: models with fewer than 1/(1 − level) baseline
rows, and work outside the sizes that the baseline has.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from otel_attrib.analytics.columns import Dimension, Flags, Floats, Ints, Rows

__all__ = ["Axis", "Cells", "ModelCells", "Work", "fit_cells", "work_of"]

BINS_AN_OCTAVE = 2
SHAPE_LEVEL = 0.9  # the curve inside a cell: high enough to be about slow rows, low enough to be steady
SHAPE_ROWS = 100
MARGIN = 0.25  # octaves beyond the baseline's sizes that are still judged


@dataclass(frozen=True, slots=True)
class Work:
    """What n rows asked for: model, and one (n,) column of tokens a size, the weightiest first."""

    model: Dimension
    sizes: tuple[Floats, ...]

    @property
    def n(self) -> int:
        """Return the number of rows."""
        return int(self.model.codes.size)


def work_of(rows: Rows) -> Work:
    """Return the work of each row; output tokens count for E2E alone, whose time grows with them."""
    model = rows.dims.get("model") or Dimension(np.zeros(rows.n, dtype=np.int64), ("",))
    decodes = any(name.startswith("decode_") for name in rows.names)
    return Work(model, (rows.output, rows.prompt) if decodes else (rows.prompt,))


@dataclass(frozen=True, slots=True)
class Axis:
    """One size cut into cells at `edges`, with the curve through (`at`, `shape`); sizes in log2 tokens."""

    edges: Floats
    at: Floats
    shape: Floats
    low: float
    high: float

    def place(self, size: Floats) -> Ints:
        """Return (n,) the cell of each log2 size."""
        return np.searchsorted(self.edges, size, side="right")

    def curve(self, size: Floats) -> Floats:
        """Return (n,) log of the time that the size alone explains."""
        return np.interp(size, self.at, self.shape)

    def knows(self, size: Floats) -> Flags:
        """Return (n,) whether the baseline has such sizes."""
        return (size >= self.low - MARGIN) & (size <= self.high + MARGIN)


@dataclass(frozen=True, slots=True)
class ModelCells:
    """The cells of one model; `limits` are logs of factors over the curve, in the axes' order."""

    axes: tuple[Axis, ...]
    limits: Floats

    def place(self, sizes: Sequence[Floats]) -> Ints:
        """Return (n,) the cell of each row."""
        cell = np.zeros(sizes[0].size, dtype=np.int64)
        for axis, size in zip(self.axes, sizes, strict=True):
            cell = cell * (axis.edges.size + 1) + axis.place(size)
        return cell

    def limit(self, sizes: Sequence[Floats]) -> Floats:
        """Return (n,) limits in ms, NaN where the baseline has no such work."""
        curve = sum((a.curve(s) for a, s in zip(self.axes, sizes, strict=True)), np.zeros(sizes[0].size))
        known = np.logical_and.reduce([a.knows(s) for a, s in zip(self.axes, sizes, strict=True)])
        return np.where(known, np.exp(curve + self.limits[self.place(sizes)]), np.nan)


@dataclass(frozen=True, slots=True)
class Cells:
    """The baseline's limits at one level, by model."""

    level: float
    models: dict[str, ModelCells]

    @property
    def rate(self) -> float:
        """Return the share of exceedances to expect in any cell."""
        return 1 - self.level

    def limits(self, work: Work) -> Floats:
        """Return (n,) limits in ms, NaN where a row is not judged."""
        limits = np.full(work.n, np.nan)
        sizes = tuple(_log2(size) for size in work.sizes)
        for code, label in enumerate(work.model.labels):
            cells = self.models.get(label)
            if cells is not None:
                mine = work.model.codes == code
                limits[mine] = cells.limit([size[mine] for size in sizes])
        return limits

    def judge(self, rows: Rows) -> tuple[Flags, Flags]:
        """Return (n,) which rows exceed their limit, and which have one."""
        limits = self.limits(work_of(rows))
        judged = ~np.isnan(limits)
        return judged & (rows.values > np.where(judged, limits, np.inf)), judged


def fit_cells(work: Work, values: Floats, level: float) -> Cells:
    """Fit the limits to a baseline: `values` are (n,) ms."""
    sizes = tuple(_log2(size) for size in work.sizes)
    logs = np.log(np.maximum(values, 1e-6))
    models = {}
    for code, label in enumerate(work.model.labels):
        mine = work.model.codes == code
        if int(mine.sum()) * (1 - level) >= 1 - 1e-9:
            models[label] = _fit_model([size[mine] for size in sizes], logs[mine], level)
    return Cells(level, models)


def _log2(size: Floats) -> Floats:
    return np.log2(np.maximum(size, 1.0))


def _fit_model(sizes: list[Floats], logs: Floats, level: float) -> ModelCells:
    needed = ceil(2 / (1 - level) - 1e-9)
    axes: list[Axis] = []
    rest = logs
    for behind, size in zip(reversed(range(len(sizes))), sizes, strict=True):
        axis = _fit_axis(size, rest, needed * 4**behind)  # an axis leaves room to cut along those behind it
        axes.append(axis)
        rest = rest - axis.curve(size)
    cells = ModelCells(tuple(axes), np.zeros(int(np.prod([axis.edges.size + 1 for axis in axes]))))
    return ModelCells(cells.axes, _limits(cells.place(sizes), rest, cells.limits.size, level, needed))


def _fit_axis(size: Floats, logs: Floats, needed: int) -> Axis:
    shaping = _edges(size, SHAPE_ROWS)
    bins = np.searchsorted(shaping, size, side="right")
    at = np.array([np.median(size[bins == b]) for b in range(shaping.size + 1)])
    shape = np.array([np.quantile(logs[bins == b], SHAPE_LEVEL) for b in range(shaping.size + 1)])
    return Axis(_edges(size, needed), at, shape, float(size.min()), float(size.max()))


def _edges(size: Floats, needed: int) -> Floats:
    """Return inner edges, each a multiple of 1/BINS_AN_OCTAVE, between cells of at least `needed` rows."""
    bins, counts = np.unique(np.floor(size * BINS_AN_OCTAVE), return_counts=True)
    edges, held, left = [], 0, int(counts.sum())
    for bin_, count in zip(bins.tolist(), counts.tolist(), strict=True):
        if held >= needed and left >= needed:
            edges.append(bin_ / BINS_AN_OCTAVE)
            held = 0
        held, left = held + count, left - count
    return np.array(edges, dtype=np.float64)


def _limits(cell: Ints, rest: Floats, cells: int, level: float, needed: int) -> Floats:
    """Return (cells,) the quantiles of `rest`; cells of too few rows share one."""
    counts = np.bincount(cell, minlength=cells)
    small = (counts < needed)[cell]
    shared = rest[small] if int(small.sum()) >= needed else rest
    limits = np.full(cells, _quantile(shared, level))
    for full in np.flatnonzero(counts >= needed).tolist():
        limits[full] = _quantile(rest[cell == full], level)
    return limits


def _quantile(values: Floats, level: float) -> float:
    return float(np.quantile(values, level, method="weibull"))
