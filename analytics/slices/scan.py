"""Poisson scan: the slice whose exceedances rose most beyond the rise of all other requests.

Statistic of a slice: the log-likelihood ratio (Kulldorff 1997, Communications in Statistics 26, 1481–1496,
with two periods for two regions) of its exceedances having risen more than those outside it, or, where
those fell, of having risen at all. So a slice that always was slower has not risen, what hits everybody
rises outside it too, and no slice rises because the others fell. The baseline's count
in a slice is backed by PRIOR expected exceedances at the rate 1 − level, which holds in every cell of the
baseline: so a version that is new can be judged, and a small slice is not judged by two requests.

Penalty: log of the number of candidates of that depth, and half the log of all exceedances for each
condition after the first (as in BIC). p: blocks of time are dealt out to the two windows at random and
the best score of any slice is counted.
"""

from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics.columns import Flags, Floats
from otel_attrib.analytics.slices.cuboids import Candidates, Where, plan_cuboids, roll_up
from otel_attrib.analytics.slices.found import Slice
from otel_attrib.analytics.slices.leaves import Leaves, named

__all__ = ["PERMUTATIONS", "SIGNIFICANT", "Scan", "scan"]

PRIOR = 10.0
PERMUTATIONS = 199
SIGNIFICANT = 0.05
AT_MOST = 3
LEAST_SHARE = 0.1
"""Of the excess; a slice with less is not worth a name."""
COMPLEMENT = 0.5
"""Share of the excess outside the slices from which on the change is called global."""
SEED = 0


@dataclass(frozen=True, slots=True)
class Scan:
    """Slices, which entries lie in one of them, and what the rest did.

    `members` flags each slice's entries of the current window, those of earlier slices left out.
    """

    slices: tuple[Slice, ...]
    members: tuple[Flags, ...]
    inside: Flags
    global_: bool
    complement_share: float
    excess: float


def scan(leaves: Leaves, level: float, significant: float = SIGNIFICANT) -> Scan:
    """Find up to three slices whose p is at most `significant`; deterministic."""
    rng = np.random.default_rng(SEED)
    rate = 1 - level
    late = leaves.block >= leaves.early
    excess = _excess(leaves, np.ones(leaves.n.size, dtype=np.bool_), rate)
    found: list[Slice] = []
    members: list[Flags] = []
    inside = np.zeros(leaves.n.size, dtype=np.bool_)
    cuboids = plan_cuboids(leaves)
    while len(found) < AT_MOST and excess > 0 and _excess(leaves, ~inside, rate) >= LEAST_SHARE * excess:
        rest = leaves.keep(~inside)
        best = _best(rest, cuboids, rate, rng)
        if best is None or best[1] > significant:
            break
        mine = _members(leaves, best[0]) & ~inside
        share = min(1.0, _excess(leaves, mine, rate) / excess)
        if share < LEAST_SHARE:
            break
        here = mine & late
        words = named({name: leaves.dims[name].labels[code] for name, code in best[0]})
        requests, over = int(leaves.n[here].sum()), int(leaves.exceed[here].sum())
        found.append(Slice(words, requests, over, round(share, 6), best[1]))
        members.append(here)
        inside |= mine
    outside = _excess(leaves, ~inside, rate) / excess if excess > 0 else 0.0
    moved = excess > 0 and outside >= COMPLEMENT and _rose(leaves.keep(~inside), rate, rng)
    return Scan(tuple(found), tuple(members), inside, bool(moved), float(max(0.0, outside)), float(excess))


def _members(leaves: Leaves, where: Where) -> Flags:
    inside = np.ones(leaves.n.size, dtype=np.bool_)
    for name, code in where:
        inside &= leaves.dims[name].codes == code
    return inside


def _excess(leaves: Leaves, chosen: Flags, rate: float) -> float:
    """Return the exceedances of the current window beyond those at the baseline's rate."""
    late = leaves.block >= leaves.early
    before, after = chosen & ~late, chosen & late
    old = (leaves.exceed[before].sum() + PRIOR) / (leaves.n[before].sum() + PRIOR / rate)
    return float(leaves.exceed[after].sum() - old * leaves.n[after].sum())


def _best(
    leaves: Leaves, cuboids: list[tuple[str, ...]], rate: float, rng: np.random.Generator
) -> tuple[Where, float] | None:
    """Return the best slice and its p, or None when none scores above its penalty."""
    candidates = roll_up(leaves, cuboids)
    if not candidates.where:
        return None
    n, exceed = leaves.by_block()
    penalty = _penalty(candidates, float(exceed.sum()))
    deals = _deals(leaves, rng)
    score = _ratios(candidates, n, exceed, deals, rate) - penalty[:, None]
    top = int(np.argmax(score[:, 0]))
    if score[top, 0] <= 0:
        return None
    best = score.max(axis=0)
    return candidates.where[top], float((best >= best[0]).mean())


def _penalty(candidates: Candidates, exceed: float) -> Floats:
    counts = np.bincount(candidates.depth)
    penalty: Floats = np.log(counts[candidates.depth]) + 0.5 * np.log(exceed) * (candidates.depth - 1)
    return penalty


def _deals(leaves: Leaves, rng: np.random.Generator) -> Floats:
    """Return (blocks, 1 + PERMUTATIONS) of 1 where a block counts as current; column 0 is the truth."""
    truth = (np.arange(leaves.blocks) >= leaves.early).astype(np.float64)
    shuffled = rng.permuted(np.tile(truth, (PERMUTATIONS, 1)), axis=1)
    return np.vstack([truth, shuffled]).T


def _ratios(candidates: Candidates, n: Floats, exceed: Floats, deals: Floats, rate: float) -> Floats:
    """Return (s, deals) the log-likelihood ratio of each slice under each deal; 0 where it did not rise."""
    prior = PRIOR / rate
    n1, b1 = candidates.n @ deals, candidates.exceed @ deals
    n0, a1 = candidates.n.sum(axis=1)[:, None] - n1, candidates.exceed.sum(axis=1)[:, None] - b1
    m1, c1 = n @ deals - n1, exceed @ deals - b1
    m0, c0 = n.sum() - n @ deals - n0, exceed.sum() - exceed @ deals - a1
    slices, others = _Pair(b1, n1, a1 + PRIOR, n0 + prior), _Pair(c1, m1, c0 + PRIOR, m0 + prior)
    rise = np.maximum(1.0, others.rise)
    return np.where((slices.rise > rise) & (m1 > 0), slices.ratio(rise), 0.0)


@dataclass(frozen=True, slots=True)
class _Pair:
    """Exceedances b of n rows of the current window, and a of m rows of the baseline."""

    b: Floats
    n: Floats
    a: Floats
    m: Floats

    @property
    def rise(self) -> Floats:
        """Return how many times the baseline's rate the current one is."""
        rise: Floats = self.b * self.m / np.maximum(1e-12, self.a * self.n)
        return rise

    def ratio(self, rise: Floats) -> Floats:
        """Return the log-likelihood of the rise that was seen over that of `rise`."""
        total = self.a + self.b
        seen, expected = self.b / total, rise * self.n / (rise * self.n + self.m)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(self.b > 0, self.b * np.log(seen / expected), 0.0)
            ratio += self.a * np.log((1 - seen) / (1 - expected))
        return np.nan_to_num(ratio, nan=0.0, posinf=0.0, neginf=0.0)


def _rose(leaves: Leaves, rate: float, rng: np.random.Generator) -> bool:
    """Whether all these rows together got slower, judged by the same deals of blocks."""
    n, exceed = leaves.by_block()
    deals = _deals(leaves, rng)
    new, old = n @ deals, n.sum() - n @ deals
    rise = (exceed @ deals + 0.5) / (new + 0.5 / rate)
    fall = (exceed.sum() - exceed @ deals + 0.5) / (old + 0.5 / rate)
    return float((rise / fall >= rise[0] / fall[0]).mean()) <= SIGNIFICANT
