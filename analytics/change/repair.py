"""The map that undoes what changed in one stage: from the current residuals back to the baseline's.

G = F_A⁻¹ ∘ F_B, monotone. It is the simplest that the rows do not contradict: nothing
at all, one factor, or quantile against quantile (means over the same bins of probability of both windows,
fine in the tail, joined by straight lines). The noise of the baseline's tail would else be booked on a
stage that did not change. A contradiction is a gap between the distributions of SEEN standard errors,
by the baseline's own variation from block to block.

A value with a share of the rows (a queue that is mostly 0) is an atom: it is spread over the baseline's
quantiles of its own probabilities by `lot`, a number in (0, 1) that each row carries.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from otel_attrib.analytics.change.spread import Spread, largest_gap
from otel_attrib.analytics.columns import Floats, Ints

__all__ = ["Repair", "fit_repair", "lots"]

BODY = 32  # bins of equal probability up to TAIL
TAIL = 0.9
HALVINGS = 4  # bins for each halving of the probability above TAIL
ATOM = 1 / 64  # share of the rows from which a repeated value is an atom
SEEN = 3.5  # standard errors of the largest gap from which two distributions differ
WITHIN = (0.05, 0.95)  # the part of the rows that a factor is read off

Kind = Literal["nothing", "factor", "quantiles"]


@dataclass(frozen=True)
class Repair:
    """G at the knots `at` (residuals of the current window, ascending): it adds `move`.

    `atoms` are (value, probability below, up to it) in the current window, `target` the baseline's
    distribution. `without_a`, `without_b` are (blocks, J): `move` with a block of either window left out.
    """

    kind: Kind
    at: Floats
    move: Floats
    without_a: Floats
    without_b: Floats
    atoms: tuple[tuple[float, float, float], ...]
    target: Spread

    @property
    def floor(self) -> float:
        """Return the least that G gives: 0, or the baseline's least where clocks made times negative."""
        return min(0.0, float(self.target.values[0]))

    def __call__(self, residual: Floats, lot: Floats) -> Floats:
        """Return G of (n,) current residuals."""
        mapped = np.maximum(self.floor, residual + np.interp(residual, self.at, self.move))
        for value, low, high in self.atoms:
            held = residual == value
            spread = self.target.at(low + (high - low) * lot[held])
            mapped[held] = np.where(np.abs(spread - value) <= 1e-12 * abs(value), value, spread)
        return mapped


def lots(*columns: Ints | Floats) -> Floats:
    """Return (n,) numbers in (0, 1) that look random and depend on nothing but each row's own columns."""
    state = np.full(columns[0].size, 0x9E3779B97F4A7C15, dtype=np.uint64)
    for column in columns:
        state ^= np.ascontiguousarray(column).view(np.uint64)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            state = (state ^ (state >> np.uint64(shift))) * np.uint64(factor)
        state ^= state >> np.uint64(31)
    lot: Floats = (np.asarray(state >> np.uint64(11), dtype=np.float64) + 0.5) / 2.0**53
    return lot


def fit_repair(a: Spread, b: Spread) -> Repair:
    """Fit G from the current window's residuals `b` to the baseline's `a`."""
    limits = _limits(a, b)
    if largest_gap(a, b, limits) < SEEN:
        return _nothing(a, b)
    factor = _factor(a, b)
    if factor is not None and largest_gap(a, b, limits, 1 / factor.ratio) < SEEN:
        return _scaled(a, b, factor)
    return _quantiles(a, b)


def _limits(a: Spread, b: Spread) -> Floats:
    levels = _edges(int(min(a.effective, b.effective)))
    return np.unique(np.concatenate([a.at(levels), b.at(levels), [0.0]]))


def _nothing(a: Spread, b: Spread) -> Repair:
    still = np.zeros(1)
    return Repair("nothing", still, still, np.zeros((a.blocks, 1)), np.zeros((b.blocks, 1)), (), a)


@dataclass(frozen=True)
class _Factor:
    """Baseline over current, and the same without each block of either window."""

    ratio: float
    without_a: Floats
    without_b: Floats


def _factor(a: Spread, b: Spread) -> _Factor | None:
    """Compare the mean logs of what lies above 0, the outermost values pulled in."""
    logs = []
    for side in (a, b):
        positive = side.values > 0
        if int(positive.sum()) < 2:
            return None
        low, high = np.quantile(side.values[positive], WITHIN)
        log = np.log(np.clip(side.values[positive], low, high))
        weight, block = side.weights[positive], side.block[positive]
        sums, sizes = (np.bincount(block, w, side.blocks) for w in (weight * log, weight))
        if side.blocks < 2 or bool((sizes.sum() - sizes <= 0).any()):
            logs.append((sums.sum() / sizes.sum(), np.full(side.blocks, sums.sum() / sizes.sum())))
        else:
            logs.append((sums.sum() / sizes.sum(), (sums.sum() - sums) / (sizes.sum() - sizes)))
    (mean_a, some_a), (mean_b, some_b) = logs
    return _Factor(float(np.exp(mean_a - mean_b)), np.exp(some_a - mean_b), np.exp(mean_a - some_b))


def _scaled(a: Spread, b: Spread, factor: _Factor) -> Repair:
    at = np.array([0.0, max(float(b.values[-1]), 1e-300)])
    moves = [
        np.outer(ratio - 1, at) for ratio in (np.array([factor.ratio]), factor.without_a, factor.without_b)
    ]
    return Repair("factor", at, moves[0][0], moves[1], moves[2], (), a)


def _quantiles(a: Spread, b: Spread) -> Repair:
    atoms = b.atoms(ATOM)
    edges = _edges(int(min(a.effective, b.effective)), atoms, a.atoms(ATOM))
    middles = (edges[1:] + edges[:-1]) / 2
    free = np.ones(middles.size, dtype=np.bool_)
    for _, low, high in atoms:
        free &= (middles < low) | (middles > high)
    at, first = np.unique(b.means(edges)[free], return_index=True)
    move = a.means(edges)[free][first] - at
    if at.size == 0:
        return Repair("quantiles", *_nothing_but(a, b), atoms, a)
    without_a, without_b = _moved(a, b, at)
    if (top := float(b.values[-1])) > at[-1]:
        # Beyond the last mean: in proportion where the baseline is lower, else by as much.
        by = top / at[-1] if move[-1] < 0 else 1.0
        at, move = np.append(at, top), np.append(move, by * move[-1])
        without_a, without_b = (np.column_stack([t, by * t[:, -1]]) for t in (without_a, without_b))
    if at[0] > 0 and move[0] < 0:
        at, move = np.append(0.0, at), np.append(0.0, move)
        without_a, without_b = (np.pad(table, ((0, 0), (1, 0))) for table in (without_a, without_b))
    return Repair("quantiles", at, move, move + without_a, move + without_b, atoms, a)


def _nothing_but(a: Spread, b: Spread) -> tuple[Floats, Floats, Floats, Floats]:
    still = _nothing(a, b)
    return still.at, still.move, still.without_a, still.without_b


def _moved(a: Spread, b: Spread, at: Floats) -> tuple[Floats, Floats]:
    """Return by how much F_A⁻¹(F_B(at)) moves when each block of A, then of B, is left out."""
    grid = np.unique(a.at(_edges(int(a.effective))))
    counts_a, counts_b = a.below_by_block(grid), b.below_by_block(at)
    whole_a, whole_b = counts_a.sum(axis=0) / a.total, counts_b.sum(axis=0) / b.total
    here = np.interp(whole_b, whole_a, grid)
    some_a = (counts_a.sum(axis=0) - counts_a) / np.maximum(a.total - a.sizes, 1e-300)[:, None]
    some_b = (counts_b.sum(axis=0) - counts_b) / np.maximum(b.total - b.sizes, 1e-300)[:, None]
    without_a = np.array([np.interp(whole_b, row, grid) for row in some_a]) - here
    return without_a, np.interp(some_b, whole_a, grid) - here


def _edges(n: int, *atoms: tuple[tuple[float, float, float], ...]) -> Floats:
    """Return the bins of probability: even in the body, ever finer in the tail down to one row."""
    halvings = max(0, int(HALVINGS * np.log2(max(1.0, n * (1 - TAIL)))))
    body = np.linspace(0, TAIL, BODY + 1)
    tail = 1 - (1 - TAIL) * 2.0 ** (-np.arange(1, halvings + 1) / HALVINGS)
    inner = np.concatenate([body, tail, *([low, high] for group in atoms for _, low, high in group), [1.0]])
    edges: Floats = np.unique(np.clip(inner, 0, 1))
    kept: Floats = edges[np.append(True, np.diff(edges) > 1e-12)]
    return kept
