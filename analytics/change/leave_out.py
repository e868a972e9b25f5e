"""The lines of the books from all rows, and again with one block of either window left out.

Only rows near the quantiles are looked at again: the others count, by block and by cell of work.
"""

from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics import harrell_davis
from otel_attrib.analytics.change.mix import Cells, ratios, weighted_quantile
from otel_attrib.analytics.change.path import NODES, Path, reach, walk
from otel_attrib.analytics.change.repaired import Moves, Restoration
from otel_attrib.analytics.change.tilt import rank_weights, shift
from otel_attrib.analytics.columns import Flags, Floats, Ints, Rows

__all__ = ["Baseline", "Current", "baseline_side", "current_side"]

EVERY: slice = slice(None)


@dataclass(frozen=True)
class Baseline:
    """The upper rows of the baseline in order of their totals.

    `below`, `counts_a` and `counts_b` are (blocks, cells) rows: those under them, all of the baseline's, all
    of the current window's.
    """

    values: Floats
    parts: Floats
    cell: Ints
    block: Ints
    below: Ints
    counts_a: Ints
    counts_b: Ints
    priced: Flags
    level: float
    shift: float

    def lines(self, a: int | None = None, b: int | None = None) -> Floats:
        """Return the quantile, the same with the current work, and the tail's K stages, without a block."""
        below, counts = _without(self.below, a), _without(self.counts_a, a)
        kept = EVERY if a is None else self.block != a
        values = self.values[kept]
        n, under = int(counts.sum()), int(below.sum())
        quantile, tail = _tail(values, self.parts[kept], n, under, self.level, self.shift)
        ratio = ratios(counts, _without(self.counts_b, b), self.priced)
        mixed = quantile
        if not bool((ratio == 1).all()):
            weights, start, total = ratio[self.cell[kept]], float(ratio @ below), float(ratio @ counts)
            mixed = weighted_quantile(values, weights, self.level, n, start, total) + self.shift
        return np.concatenate([[quantile, mixed], tail])


@dataclass(frozen=True)
class Current:
    """The current rows near the path, in order of their totals, as they are (x) and restored (y).

    `below`, `sizes` are (blocks,) rows under them and of all.
    """

    x: Floats
    y: Floats
    block: Ints
    below: Ints
    sizes: Ints
    moves: tuple[Moves, ...]
    level: float
    shifts: tuple[float, float]

    def path(self) -> Path:
        """Return the way from repaired to current with all rows."""
        return self._walk(self.y, None, NODES)

    def without_a(self, block: int) -> Path:
        """Return the way when the maps are fitted without a block of the baseline."""
        return self._walk(self._moved(block, "a"), None, NODES[:1])

    def without_b(self, block: int) -> Path:
        """Return the way without a block of the current rows, maps and all."""
        return self._walk(self._moved(block, "b"), block, NODES[:1])

    def tail(self, without: int | None = None) -> Floats:
        """Return the K stages of the tail."""
        kept = EVERY if without is None else self.block != without
        totals = self.x[kept].sum(axis=1)
        n, under = int(_without(self.sizes, without).sum()), int(_without(self.below, without).sum())
        return _tail(totals, self.x[kept], n, under, self.level, self.shifts[1])[1]

    def _moved(self, block: int, side: str) -> Floats:
        if not self.moves:
            return self.y
        moved = self.y.copy()
        for move in self.moves:
            tables = move.repair.without_a if side == "a" else move.repair.without_b
            moved[move.rows, move.column] = move.without(tables[block])
        return moved

    def _walk(self, y: Floats, without: int | None, nodes: tuple[int, ...]) -> Path:
        kept = EVERY if without is None else self.block != without
        below, sizes = int(_without(self.below, without).sum()), int(_without(self.sizes, without).sum())
        before, after = y[kept], self.x[kept]
        above = sizes - below - before.shape[0]
        return walk(before, after, self.level, below, above, self.shifts, nodes)


def _without(counts: Ints, block: int | None) -> Ints:
    """Sum over the blocks, but for one."""
    whole: Ints = counts.sum(axis=0)
    return whole if block is None else whole - counts[block]


def _tail(values: Floats, parts: Floats, n: int, below: int, level: float, by: float) -> tuple[float, Floats]:
    """Return the quantile and its K stages from sorted upper rows, of which `below` more lie underneath.

    The stages add up to the quantile: a displayed number beyond the rows at hand is met in proportion.
    """
    first, last = harrell_davis.rank_window(n, level)
    first, last = max(first, below + 1), min(last, below + values.size)
    near = slice(first - below - 1, last - below)
    weight = rank_weights(n, level, first, last)
    tilted = shift(weight, values[near], by)
    quantile, stages = float(weight @ values[near]) + by, tilted @ parts[near]
    whole = float(stages.sum())
    return quantile, stages * (quantile / whole) if by and whole else stages


def baseline_side(rows: Rows, cells: Cells, blocks: tuple[Ints, Ints], level: float, by: float) -> Baseline:
    """Keep the rows that the quantile, its re-weighting or either without a block can need."""
    counts_a, counts_b = cells.count(cells.a, blocks[0]), cells.count(cells.b, blocks[1])
    order = np.argsort(rows.values, kind="stable")
    ratio = ratios(counts_a.sum(axis=0), counts_b.sum(axis=0), cells.priced)
    reached = np.cumsum(ratio[cells.a[order]])
    first = harrell_davis.rank_window(rows.n, level)[0] - 2 * int(counts_a.sum(axis=1).max())
    start = min(max(0, first - 1), int(np.searchsorted(reached, reached[-1] * max(0, first) / rows.n)))
    under, upper = order[:start], order[start:]
    upper = upper[np.lexsort((*rows.parts[upper].T, rows.values[upper]))]
    below = np.zeros_like(counts_a)
    np.add.at(below, (blocks[0][under], cells.a[under]), 1)
    return Baseline(
        rows.values[upper],
        rows.parts[upper],
        cells.a[upper],
        blocks[0][upper],
        below,
        counts_a,
        counts_b,
        cells.priced,
        level,
        by,
    )


def current_side(
    rows: Rows,
    restored: Floats,
    back: Restoration,
    block: Ints,
    level: float,
    shifts: tuple[float, float],
) -> Current:
    """Keep the rows that can matter on the path, or on it without any one block."""
    sizes = np.bincount(block).astype(np.int64)
    slack = int(sizes.max()) if sizes.size > 1 else 0
    totals = restored.sum(axis=1), rows.parts.sum(axis=1)
    near = reach(*totals, level, slack)
    kept = np.flatnonzero(near.rows)
    kept = kept[np.lexsort((*rows.parts[kept].T, totals[1][kept]))]
    below = np.bincount(block[near.below], minlength=sizes.size).astype(np.int64)
    return Current(
        rows.parts[kept],
        restored[kept],
        block[kept],
        below,
        sizes,
        back.moves(rows.take(kept), restored[kept]),
        level,
        shifts,
    )
