"""The change of a quantile split over the stages of the same rows, along the straight path between them.

Given n rows with stages y before and x after, T_θ = (1−θ)·Σy + θ·Σx and D = x − y, stage k is given
φ_k = ∫₀¹ Σ_i w_i D_[i]k dθ, where w are the Harrell–Davis weights and [i] the row that ranks i-th in T_θ.
This is the Aumann–Shapley price of the stage.

Guarantee: Σ φ_k = q(x) − q(y) to rounding. The midpoint rule leaves a small rest, which is spread over
the stages in proportion to |φ_k|; more nodes are taken until it is small. Rows of equal totals share
their weights, so that neither the order of rows nor that of stages matters.

Cost: rows that never come near the quantile on the whole path only count. `reach` finds the others, and
`certified` says whether the rows left out could have mattered.

Source: Aumann and Shapley (1974), Values of Non-Atomic Games; weights as in `harrell_davis`.
"""

from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics import harrell_davis
from otel_attrib.analytics.change.tilt import rank_weights, shift
from otel_attrib.analytics.columns import Flags, Floats, Ints

__all__ = ["NODES", "Path", "Reach", "reach", "walk"]

NODES = (4, 8, 12)
ENOUGH = 2e-3  # of the change that the midpoint rule may leave before more nodes are taken
SAME = 1e-12  # totals this near to one another, relative to the largest, are ties


@dataclass(frozen=True)
class Path:
    """What each stage adds on the way from `before` to `after`, in ms.

    `rest` is what the midpoint rule left and has been spread; `nodes` how many points it used; `certified`
    whether no row left out could have weighed on any of them.
    """

    stages: Floats
    before: float
    after: float
    rest: float
    nodes: int
    certified: bool


@dataclass(frozen=True)
class Reach:
    """Which (n,) rows can weigh on the quantile somewhere on the path, and which only count."""

    rows: Flags
    below: Flags
    above: Flags


def reach(before: Floats, after: Floats, level: float, slack: int = 0) -> Reach:
    """Find the rows that can matter, given the (n,) totals at both ends.

    Every T_θ lies between the smaller and the larger of its two totals, hence its order statistics
    between those of the smaller and of the larger ones: a row whose larger total is under the lowest such
    value, or whose smaller total is over the highest, keeps its side whatever θ is. `slack` ranks more are
    kept on both sides, for whoever leaves out up to that many rows.
    """
    smaller, larger = np.minimum(before, after), np.maximum(before, after)
    first, last = harrell_davis.rank_window(before.size, level)
    first, last = max(1, first - slack), min(before.size, last + slack)
    low = float(np.partition(smaller, first - 1)[first - 1])
    high = float(np.partition(larger, last - 1)[last - 1])
    margin = SAME * max(abs(high), abs(low))
    under, over = larger < low - margin, smaller > high + margin
    return Reach(~(under | over), under & ~over, over)


def walk(
    before: Floats,
    after: Floats,
    level: float,
    below: int = 0,
    above: int = 0,
    shifts: tuple[float, float] = (0.0, 0.0),
    nodes: tuple[int, ...] = NODES,
) -> Path:
    """Split q(after) − q(before) over the K columns of two (n, K) tables of the same rows.

    `below` and `above` count rows that are not given and lie on that side all along the path. `shifts` are
    added to the quantiles at both ends: the weights are tilted to meet them.
    """
    start, end = before.sum(axis=1), after.sum(axis=1)
    difference = after - before
    n = below + start.size + above
    first, last = harrell_davis.rank_window(n, level)
    span = slice(max(0, first - below - 1), min(start.size, last - below))
    certified = first > below and last <= below + start.size
    weight = rank_weights(n, level, below + span.start + 1, below + span.stop)
    ends = [
        float(weight @ _ranked(total, span)) + move for total, move in zip((start, end), shifts, strict=True)
    ]
    change = ends[1] - ends[0]
    steps, rest, size = np.zeros(difference.shape[1]), change, 0.0
    for count in nodes:
        steps = _midpoints(start, difference, end - start, weight, span, shifts, count)
        rest, size = change - float(steps.sum()), float(np.abs(steps).sum())
        if abs(rest) <= ENOUGH * size:
            break
    if size > 0:
        steps = steps + rest * np.abs(steps) / size
    return Path(steps, ends[0], ends[1], rest, count, certified)


def _midpoints(
    start: Floats,
    difference: Floats,
    moved: Floats,
    weight: Floats,
    span: slice,
    shifts: tuple[float, float],
    count: int,
) -> Floats:
    steps = np.zeros(difference.shape[1])
    for theta in (np.arange(count) + 0.5) / count:
        total = start + theta * moved
        order = _from_rank(total, span.start)
        here = slice(span.start - total.size + order.size, span.stop - total.size + order.size)
        ranked = total[order]
        heavy = shift(weight, ranked[here], (1 - theta) * shifts[0] + theta * shifts[1])
        rows, shared = _share_ties(ranked, heavy, here)
        steps += shared @ difference[order[rows]]
    mean: Floats = steps / count
    return mean


def _ranked(total: Floats, span: slice) -> Floats:
    """Return the totals of these ranks in order; only they and those above are sorted."""
    upper = np.partition(total, span.start)[span.start :] if span.start < total.size else total[:0]
    return np.sort(upper)[: span.stop - span.start]


def _from_rank(total: Floats, rank: int) -> Ints:
    """Return the rows of this rank (from 0), its ties and all above it, in order of their totals."""
    if not 0 < rank < total.size:
        return np.argsort(total, kind="stable")
    least = np.partition(total, rank)[rank] - 2 * SAME * max(abs(total.max()), abs(total.min()))
    kept = np.flatnonzero(total >= least)
    order: Ints = kept[np.argsort(total[kept], kind="stable")]
    return order


def _share_ties(ranked: Floats, weight: Floats, span: slice) -> tuple[slice, Floats]:
    """Give rows of equal totals their mean weight; the first and last may have ties outside the span."""
    near = SAME * max(1e-300, float(np.abs(ranked[span]).max(initial=0.0)))
    gaps = np.diff(ranked[span])
    low = int(np.searchsorted(ranked, ranked[span.start] - near, side="left"))
    high = int(np.searchsorted(ranked, ranked[span.stop - 1] + near, side="right"))
    if low == span.start and high == span.stop and bool((gaps > near).all()):
        return span, weight
    spread = np.zeros(high - low)
    spread[span.start - low : span.stop - low] = weight
    starts = np.flatnonzero(np.concatenate([[True], np.diff(ranked[low:high]) > near]))
    sizes = np.diff(np.append(starts, high - low))
    return slice(low, high), np.repeat(np.add.reduceat(spread, starts) / sizes, sizes)
