"""The map that undoes what changed in one stage: from the current residuals back to the baseline's.

G = F_A⁻¹ ∘ F_B, by quantile against quantile: means over the same bins of probability of both windows,
fine in the tail, joined by straight lines. It is monotone, and exactly the identity where the windows are
equal. Values with a share of the rows (a queue that is mostly 0) are atoms: they are spread over the
baseline's quantiles of their own probabilities by `lot`, a number in (0, 1) that each row carries.

Where the windows differ by no more than noise, G is the identity: otherwise the noise of the baseline's
tail would be booked on the stage. The noise is the delete-block jackknife's, so requests that are slow
together count as the few independent ones that they are.
"""

from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics.columns import Floats, Ints

__all__ = ["Repair", "fit_repair", "lots"]

BODY = 32  # bins of equal probability up to TAIL
TAIL = 0.9
HALVINGS = 4  # bins for each halving of the probability above TAIL
ATOM = 1 / 64  # share of the rows from which a repeated value is an atom
SEEN = 3.5  # standard errors of a bin from which the windows are taken to differ


@dataclass(frozen=True)
class Repair:
    """G at the knots `at` (residuals of the current window): it adds `move` and never goes below 0.

    `atoms` maps a repeated value to its probabilities; `levels` and `quantiles` are F_A⁻¹. `changed` is
    False when nothing but noise was seen: then G is the identity.
    """

    at: Floats
    move: Floats
    atoms: tuple[tuple[float, float, float], ...]
    levels: Floats
    quantiles: Floats
    changed: bool

    def __call__(self, residual: Floats, lot: Floats) -> Floats:
        """Return G of (n,) current residuals."""
        if not self.changed:
            return residual
        mapped = np.maximum(0.0, residual + np.interp(residual, self.at, self.move))
        for value, low, high in self.atoms:
            held = residual == value
            spread = np.interp(low + (high - low) * lot[held], self.levels, self.quantiles)
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


def fit_repair(baseline: Floats, current: Floats) -> Repair:
    """Fit G on (n_A,) and (n_B,) residuals, in any order."""
    a, b = np.sort(baseline), np.sort(current)
    atoms = _atoms(b)
    edges = _edges(min(a.size, b.size), atoms, _atoms(a))
    a_bins, b_bins = _means(a, edges), _means(b, edges)
    free = np.array([not any(lo <= m <= hi for _, lo, hi in atoms) for m in (edges[1:] + edges[:-1]) / 2])
    at, first = np.unique(b_bins[free], return_index=True)
    move = (a_bins - b_bins)[free][first]
    if at.size == 0:
        at, move = np.zeros(1), np.zeros(1)
    elif at[0] > 0 and move[0] < 0:
        at, move = np.append(0.0, at), np.append(0.0, move)
    same = a.size == b.size and bool((a == b).all())
    levels = (np.arange(a.size) + 0.5) / a.size
    return Repair(at, move, atoms, levels, a, not same)


def _edges(n: int, *atoms: tuple[tuple[float, float, float], ...]) -> Floats:
    """Return the bins of probability: even in the body, ever finer in the tail down to one row."""
    halvings = max(0, int(HALVINGS * np.log2(max(1.0, n * (1 - TAIL)))))
    body = np.linspace(0, TAIL, BODY + 1)
    tail = 1 - (1 - TAIL) * 2.0 ** (-np.arange(1, halvings + 1) / HALVINGS)
    inner = np.concatenate([body, tail, *([low, high] for group in atoms for _, low, high in group), [1.0]])
    edges = np.unique(np.clip(inner, 0, 1))
    return edges[np.append(True, np.diff(edges) > 1e-12)]


def _means(ordered: Floats, edges: Floats) -> Floats:
    """Return the mean of the quantile function over each bin."""
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    total = np.interp(edges * ordered.size, np.arange(sums.size), sums)
    means: Floats = np.diff(total) / np.diff(edges * ordered.size)
    # The sums lose digits that neighbours share; a mean lies between the values that it is of.
    low = ordered[np.minimum((edges[:-1] * ordered.size).astype(int), ordered.size - 1)]
    high = ordered[np.clip(np.ceil(edges[1:] * ordered.size).astype(int) - 1, 0, ordered.size - 1)]
    means = np.clip(means, np.minimum(low, high), np.maximum(low, high))
    return np.asarray(np.maximum.accumulate(means), dtype=np.float64)


def _atoms(ordered: Floats) -> tuple[tuple[float, float, float], ...]:
    """Return (value, probability below, probability up to it) of each value with a share of the rows."""
    values, starts, counts = np.unique(ordered, return_index=True, return_counts=True)
    large = np.flatnonzero((counts > 1) & (counts >= ATOM * ordered.size))
    n = ordered.size
    return tuple((float(values[i]), starts[i] / n, (starts[i] + counts[i]) / n) for i in large)
