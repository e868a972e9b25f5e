"""How well a measured wait tells requests that a fault hit from the others, and how far two measures agree.

Pure: times are µs on one clock, waits are ms in each ms of a request.
"""

from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics.columns import Flags, Floats, Ints
from otel_attrib.analytics.join.measure import Measured

__all__ = ["Agreement", "Group", "Overlap", "Result", "Told", "agreement", "apart", "overlap", "tell_apart"]


@dataclass(frozen=True)
class Overlap:
    """(k,) of each request: µs inside the stretches, and µs to the nearest (negative: inside so far)."""

    inside: Ints
    distance: Ints

    @property
    def hit(self) -> Flags:
        """Return which requests share any time with a stretch."""
        return self.inside > 0

    def at_edge(self, us: int) -> Flags:
        """Return which requests would change sides if a stretch were `us` longer or shorter at its ends."""
        return np.abs(self.distance) < us


def overlap(start: Ints, end: Ints, stretches: list[tuple[int, int]]) -> Overlap:
    """Lay (k,) requests over the stretches in which a fault was on."""
    first, last = np.array(stretches, dtype=np.int64).reshape(-1, 2).T
    common = np.minimum(end[:, None], last) - np.maximum(start[:, None], first)
    return Overlap(np.maximum(common, 0).sum(axis=1), -common.max(axis=1))


@dataclass(frozen=True)
class Group:
    """Requests on one side: how many, and their wait (ms in each ms)."""

    requests: int
    median: float
    p90: float
    largest: float

    @classmethod
    def of(cls, wait: Floats) -> "Group":
        """Describe them; at least one."""
        return cls(wait.size, float(np.median(wait)), float(np.quantile(wait, 0.9)), float(wait.max()))


@dataclass(frozen=True)
class Told:
    """What the wait alone tells of who was hit.

    `above` is the share of hit requests whose wait is more than the largest of all others, `above_off_edges`
    the same without requests that lie where a stretch begins or ends (None: no others are left). `auc` is how
    often a hit request's wait is more than another's, over all pairs (equal: half). `misplaced` requests lie
    on the wrong side of the best single limit, `misplaced_at_edge` of them at such an edge.
    """

    hit: Group
    others: Group
    above: float | None
    above_off_edges: float | None
    auc: float
    misplaced: int
    misplaced_at_edge: int


def tell_apart(wait: Floats, hit: Flags, at_edge: Flags) -> Told:
    """Compare (k,) waits of hit requests with those of the others; both sides have at least one."""
    limit = _best_limit(wait, hit)
    wrong = (wait > limit) != hit
    mine, theirs = wait[hit], wait[~hit]
    return Told(
        hit=Group.of(mine),
        others=Group.of(theirs),
        above=_above(mine, theirs),
        above_off_edges=_above(wait[hit & ~at_edge], wait[~hit & ~at_edge]),
        auc=_auc(mine, theirs),
        misplaced=int(wrong.sum()),
        misplaced_at_edge=int((wrong & at_edge).sum()),
    )


def _above(mine: Floats, theirs: Floats) -> float | None:
    return float(np.mean(mine > theirs.max())) if mine.size and theirs.size else None


def _auc(mine: Floats, theirs: Floats) -> float:
    ordered = np.sort(theirs)
    below = np.searchsorted(ordered, mine, side="left") + np.searchsorted(ordered, mine, side="right")
    return float(below.sum() / (2 * mine.size * theirs.size))


def _best_limit(wait: Floats, hit: Flags) -> float:
    """Return the limit, below the lowest wait or one of the waits, above which fewest are misplaced."""
    values, place = np.unique(wait, return_inverse=True)
    missed = np.append(0, np.cumsum(np.bincount(place, weights=hit, minlength=values.size)))
    false = np.append(0, np.cumsum(np.bincount(place, weights=~hit, minlength=values.size)))
    best = int(np.argmin(missed + (false[-1] - false)))
    return float(np.append(-np.inf, values)[best])


@dataclass(frozen=True)
class Agreement:
    """Two measures of the same waits: seconds over all stretches, and how far apart (0.1: a tenth).

    `request` and `request_p90` are over hit requests; `disjoint` is the number of those for which the bounds
    of the two measures exclude each other.
    """

    seconds: float
    other_seconds: float
    total: float
    stretch: float
    request: float
    request_p90: float
    disjoint: int


def apart(one: Floats, other: Floats) -> Floats:
    """Return the difference over the mean of both; 0 where both are 0."""
    middle = (one + other) / 2
    return np.divide(np.abs(one - other), middle, out=np.zeros_like(middle), where=middle > 0)


def agreement(stretches: tuple[Measured, Measured], requests: tuple[Measured, Measured]) -> Agreement:
    """Compare two measures over the stretches of a fault and over the requests that it hit."""
    one, other = (each.value for each in stretches)
    sums = np.array([one.sum()]), np.array([other.sum()])
    of_request = apart(requests[0].value, requests[1].value)
    left, right = requests
    exclude = (left.low > right.high) | (right.low > left.high)
    return Agreement(
        seconds=float(sums[0][0]),
        other_seconds=float(sums[1][0]),
        total=float(apart(*sums)[0]),
        stretch=float(apart(one, other).max()),
        request=float(np.median(of_request)),
        request_p90=float(np.quantile(of_request, 0.9)),
        disjoint=int(exclude.sum()),
    )


@dataclass(frozen=True)
class Result:
    """One fault: its requests, how many no measure knows, what each measure tells, and how far two agree."""

    fault: str
    requests: int
    unknown: int
    told: dict[str, Told]
    agreement: dict[str, Agreement]
