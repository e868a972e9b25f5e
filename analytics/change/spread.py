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

    def spread(self, rows: Flags, weights: Floats, block: Ints, slices: Ints) -> "Spread":
        """Return the distribution of the flagged (n,) rows; `block` and `slices` are of all n."""
        kept = rows[self.order]
        order = self.order[kept]
        counts = 1 + int(block.max()), 1 + int(slices.max())
        return Spread(self.ordered[kept], weights[order], block[order], counts[0], slices[order], counts[1])


@dataclass(frozen=True)
class Spread:
    """(n,) residuals in order with weights of a mean of one, and what they share their slowness with.

    `block` is each row's block of time × node (0…blocks−1), `slice` its slice of time (0…slices−1).
    """

    values: Floats
    weights: Floats
    block: Ints
    blocks: int
    slice: Ints
    slices: int

    @cached_property
    def sums(self) -> Floats:
        """Return the (n+1,) weight of all rows before each."""
        return np.concatenate([[0.0], np.cumsum(self.weights)])

    @cached_property
    def sizes(self) -> Floats:
        """Return the (blocks,) weight of each block."""
        return np.asarray(np.bincount(self.block, self.weights, self.blocks), dtype=np.float64)

    def variance(self, limits: Floats) -> Floats:
        """Return the variance of the share of rows up to each limit, as blocks and slices of time vary."""
        share = self.below(limits)
        alone = share * (1 - share) / self.effective
        shared = [self._shared(limits, share, self.block, self.blocks)]
        shared.append(self._shared(limits, share, self.slice, self.slices))
        return np.maximum(alone, np.maximum(*shared))

    def _shared(self, limits: Floats, share: Floats, group: Ints, groups: int) -> Floats:
        sizes = np.bincount(group, self.weights, groups)
        held = int((sizes > 0).sum())
        if held < 2:
            return np.zeros(limits.size)
        apart = self._reached(limits, group, groups) - sizes[:, None] * share
        variance: Floats = np.square(apart).sum(axis=0) / self.total**2 * held / (held - 1)
        return variance

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
        return self._reached(limits, self.block, self.blocks)

    def _reached(self, limits: Floats, group: Ints, groups: int) -> Floats:
        places = np.searchsorted(limits, self.values, side="left")
        counts = np.bincount(group * (limits.size + 1) + places, self.weights, groups * (limits.size + 1))
        reached: Floats = np.cumsum(counts.reshape(groups, -1), axis=1, dtype=np.float64)
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
    blocks and slices of time alone, and never less than independent rows vary: a fault in a part of the
    current window must not hide behind the variation that it makes.
    """
    scaled = limits / factor
    share_a, share_b = a.below(scaled), b.below(limits)
    each = 1 / a.effective + 1 / b.effective
    pooled = (share_a * a.effective + share_b * b.effective) / (a.effective + b.effective)
    variance = np.maximum(pooled * (1 - pooled), a.variance(scaled) * a.effective) * each
    gaps = np.abs(share_a - share_b)
    seen = gaps > 1e-12
    return float(np.sqrt(np.square(gaps[seen]) / variance[seen]).max(initial=0.0))
