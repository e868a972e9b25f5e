"""One stage's residuals of one window: their distribution, and how much it varies from block to block.

Rows carry weights, so that a baseline can be read as if its work were the current window's. Counts are kept
by block of time × node: what neighbours share makes a distribution look surer than it is.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from otel_attrib.analytics.columns import Flags, Floats, Ints

__all__ = ["Sorted", "Spread", "largest_gap"]


@dataclass(frozen=True)
class Sorted:
    """(n,) residuals in ascending order, and the row that each belongs to."""

    ordered: Floats
    order: Ints

    @classmethod
    def of(cls, values: Floats) -> "Sorted":
        """Sort (n,) residuals."""
        order = np.argsort(values)
        return cls(values[order], order)

    def spread(self, rows: Flags, weights: Floats, block: Ints, blocks: int) -> "Spread":
        """Return the distribution of the flagged (n,) rows."""
        kept = rows[self.order]
        order = self.order[kept]
        return Spread(self.ordered[kept], weights[order], block[order], blocks)


@dataclass(frozen=True)
class Spread:
    """(n,) residuals in order with their weights and blocks (0…blocks−1); weights have a mean of one."""

    values: Floats
    weights: Floats
    block: Ints
    blocks: int

    @cached_property
    def sums(self) -> Floats:
        """Return the (n+1,) weight of all rows before each."""
        return np.concatenate([[0.0], np.cumsum(self.weights)])

    @cached_property
    def sizes(self) -> Floats:
        """Return the (blocks,) weight of each block."""
        return np.asarray(np.bincount(self.block, self.weights, self.blocks), dtype=np.float64)

    @property
    def total(self) -> float:
        """Return the weight of all rows."""
        return float(self.sums[-1])

    @property
    def effective(self) -> float:
        """Return how many rows of equal weight vary as much."""
        # Not a dot product: BLAS wakes its threads for one, which costs more than the sum.
        return self.total**2 / float(np.square(self.weights).sum())

    def below(self, limits: Floats) -> Floats:
        """Return the (J,) share of rows up to each of the limits."""
        shares: Floats = self.sums[np.searchsorted(self.values, limits, side="right")] / self.total
        return shares

    def below_by_block(self, limits: Floats) -> Floats:
        """Return (blocks, J) weights up to each of the limits, which ascend."""
        places = np.searchsorted(limits, self.values, side="left")
        cells = self.block * (limits.size + 1) + places
        counts = np.bincount(cells, self.weights, self.blocks * (limits.size + 1))
        reached: Floats = np.cumsum(counts.reshape(self.blocks, -1), axis=1, dtype=np.float64)
        return reached[:, :-1]

    def at(self, levels: Floats) -> Floats:
        """Return the quantiles at (J,) levels, on straight lines between the rows."""
        middles = (self.sums[1:] + self.sums[:-1]) / (2 * self.total)
        return np.interp(levels, middles, self.values)

    def means(self, edges: Floats) -> Floats:
        """Return the mean of the quantile function between successive edges of probability; it ascends."""
        mass = np.concatenate([[0.0], np.cumsum(self.weights * self.values)])
        reached = np.interp(edges * self.total, self.sums, mass)
        means: Floats = np.diff(reached) / (np.diff(edges) * self.total)
        # Sums lose the digits that neighbours share; a mean lies between the values that it is of.
        first = np.searchsorted(self.sums, edges[:-1] * self.total, side="right") - 1
        last = np.searchsorted(self.sums, edges[1:] * self.total, side="left") - 1
        top = self.values.size - 1
        low, high = self.values[np.clip(first, 0, top)], self.values[np.clip(last, 0, top)]
        means = np.clip(means, low, np.maximum(low, high))
        return np.asarray(np.maximum.accumulate(means), dtype=np.float64)

    def atoms(self, share: float) -> tuple[tuple[float, float, float], ...]:
        """Return (value, probability below it, probability up to it) of repeated values with that share."""
        starts = np.flatnonzero(np.concatenate([[True], np.diff(self.values) > 0]))
        stops = np.append(starts[1:], self.values.size)
        mass = (self.sums[stops] - self.sums[starts]) / self.total
        large = np.flatnonzero((stops - starts > 1) & (mass >= share))
        bounds = self.sums / self.total
        return tuple(
            (float(self.values[starts[i]]), float(bounds[starts[i]]), float(bounds[stops[i]])) for i in large
        )


def largest_gap(a: Spread, b: Spread, limits: Floats, factor: float = 1.0) -> float:
    """Return the largest gap between both distributions, in standard errors of no difference at all.

    `factor` multiplies the baseline's residuals first. How much a share varies is taken from the baseline's
    blocks alone, and never less than independent rows vary: a fault in a part of the current window must
    not hide behind the variation that it makes.
    """
    counts = a.below_by_block(limits / factor)
    share_a, share_b = counts.sum(axis=0) / a.total, b.below(limits)
    each = 1 / a.effective + 1 / b.effective
    pooled = (share_a * a.effective + share_b * b.effective) / (a.effective + b.effective)
    variance = pooled * (1 - pooled) * each
    if a.blocks > 1:
        apart = counts - a.sizes[:, None] * share_a
        by_block = (apart**2).sum(axis=0) / a.total**2 * a.blocks / (a.blocks - 1)
        variance = np.maximum(variance, by_block * a.effective * each)
    gaps = np.abs(share_a - share_b)
    seen = gaps > 1e-12
    return float(np.sqrt(gaps[seen] ** 2 / variance[seen]).max(initial=0.0))
