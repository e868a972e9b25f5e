"""Who was hit: the partition of the rows in which one stage changed unevenly, if there is one.

A fault on one GPU of four changes a quarter of the rows. Undone over all rows at once, every slow row would
become a bit faster; undone where it happened, the others keep their times. Candidates are the places where
rows were served, and the time within the current window (a fault may start late or pass). A partition is
taken only when the parts differ by far more than the baseline varies from block to block.

Each row is scored by its rank among the baseline's residuals, and by whether it is in their upper 5 %:
bounded numbers, so a few huge rows decide nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics.change.spread import Sorted
from otel_attrib.analytics.codes import distinct
from otel_attrib.analytics.columns import Floats, Ints, Rows

__all__ = ["LEAST_ROWS", "PLACES", "Groups", "Partition", "Partitions", "partitions_of", "time_slices"]

PLACES = (
    ("node",),
    ("node", "gpu_set"),
    ("replica",),
    ("version",),
    ("engine_version",),
    ("engine",),
    ("partition_id",),
    ("operator_id",),
)
TIMES = 20  # slices of the current window
LEAST_ROWS = 100  # of a part, in the current window; smaller ones stay with the rest
APART = 5.0  # standard errors by which a part was hit differently
PART_COST = 12.0  # chi-squared that a further part must be worth
UPPER = 0.95
BORROWED = 0.6  # of the worth: a part held against the rows of other places may just be unlike them


@dataclass(frozen=True)
class Groups:
    """Rows grouped by the words of some dimensions, or by slices of [start, end) when there are none."""

    names: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    start: int = 0
    end: int = 0

    @property
    def by(self) -> str:
        """Return what the groups go by, for people."""
        return " × ".join(self.names) or "time"

    @property
    def count(self) -> int:
        """Return the number of groups."""
        return len(self.words) if self.names else TIMES

    def of(self, rows: Rows) -> Ints:
        """Return the (n,) group of each row; `count` for words that no group has."""
        if not self.names:
            slices = (rows.time_us - self.start) * TIMES // (self.end - self.start)
            return np.clip(slices, 0, TIMES - 1)
        number = {word: i for i, word in enumerate(self.words)}
        columns = [rows.dims[name] for name in self.names]
        shape = tuple(len(column.labels) for column in columns)
        joint = np.ravel_multi_index([column.codes for column in columns], shape)
        places, inverse = distinct(joint)
        words = zip(*(np.unravel_index(places, shape)), strict=True)
        known = [
            number.get(tuple(column.labels[i] for column, i in zip(columns, word, strict=True)), self.count)
            for word in words
        ]
        return np.array(known, dtype=np.int64)[inverse]


@dataclass(frozen=True)
class Partition:
    """The (count + 1,) part of each group; part 0 is the rest, and what belongs to no group.

    A part without baseline rows of its own (a new version, a slice of time) is held against all of them.
    """

    groups: Groups
    number: Ints

    @property
    def parts(self) -> int:
        """Return the number of parts, the rest among them."""
        return 1 + int(self.number.max())

    def of(self, rows: Rows) -> Ints:
        """Return the (n,) part of each row."""
        return self.number[self.groups.of(rows)]

    def of_baseline(self, rows: Rows) -> Ints:
        """Return the (n,) part of each baseline row; slices of the current window have none."""
        return self.of(rows) if self.groups.names else np.zeros(rows.n, dtype=np.int64)


@dataclass(frozen=True)
class Candidate:
    """Groups before any stage was looked at, and the (n,) group of each row of both windows."""

    groups: Groups
    a: Ints
    b: Ints


@dataclass(frozen=True)
class Partitions:
    """All candidates, to be asked stage by stage."""

    candidates: tuple[Candidate, ...]
    block: Ints
    slices: Ints

    def hit(self, before: Sorted, now: Sorted, weights: Floats) -> Partition | None:
        """Return the partition in which the residuals `now` differ most unevenly from `before`, if any."""
        best, worth = None, 0.0
        scores = [_Score.of(*pair, weights, (self.block, self.slices)) for pair in _scores(before, now)]
        for candidate in self.candidates:
            for score in scores:
                found, gain = _uneven(candidate, score)
                if found is not None and gain > worth:
                    best, worth = found, gain
        return best


def partitions_of(baseline: Rows, current: Rows, block: Ints) -> Partitions:
    """Collect the candidates; `block` is the baseline's (n_A,) blocks of time × node."""
    return Partitions(tuple(_candidates(baseline, current)), block, time_slices(baseline))


def time_slices(rows: Rows) -> Ints:
    """Return the (n,) slice of each row, of the time that the rows span."""
    return _all_time(rows).of(rows)


def _all_time(rows: Rows) -> Groups:
    return Groups((), (), int(rows.time_us.min()), int(rows.time_us.max()) + 1)


def _candidates(baseline: Rows, current: Rows) -> Iterator[Candidate]:
    seen: list[Ints] = []
    for names in PLACES:
        if not all(name in rows.dims for name in names for rows in (baseline, current)):
            continue
        groups = _places(names, current)
        b = groups.of(current)
        if groups.count > 1 and not any((b == other).all() for other in seen):
            seen.append(b)
            yield Candidate(groups, groups.of(baseline), b)
    groups = _all_time(current)
    if current.n >= TIMES * LEAST_ROWS and groups.end - groups.start > TIMES:
        yield Candidate(groups, np.full(baseline.n, TIMES, dtype=np.int64), groups.of(current))


def _places(names: tuple[str, ...], current: Rows) -> Groups:
    """Return the combinations of words that enough current rows have."""
    columns = [current.dims[name] for name in names]
    shape = tuple(len(column.labels) for column in columns)
    joint = np.ravel_multi_index([column.codes for column in columns], shape)
    places, place = distinct(joint)
    large = np.unravel_index(places[np.bincount(place) >= LEAST_ROWS], shape)
    found = [
        tuple(column.labels[i] for column, i in zip(columns, word, strict=True))
        for word in zip(*large, strict=True)
    ]
    return Groups(names, tuple(sorted(found)))


def _scores(before: Sorted, now: Sorted) -> list[tuple[Floats, Floats]]:
    """Return each row's score, (n_A,) and (n_B,), for both ways to score."""
    ranks = [_ranks(before.ordered, side) for side in (before, now)]
    upper = [(rank > UPPER).astype(np.float64) for rank in ranks]
    return [(ranks[0], ranks[1]), (upper[0], upper[1])]


def _ranks(ordered: Floats, rows: Sorted) -> Floats:
    # Looking up what is in order takes a fraction of the time.
    sides = [np.searchsorted(ordered, rows.ordered, side=side) for side in ("left", "right")]
    ranks = np.empty(rows.ordered.size)
    ranks[rows.order] = (sides[0] + sides[1]) / (2 * ordered.size)
    return ranks


@dataclass(frozen=True)
class _Score:
    """One score of the rows of both windows.

    `variance` is one baseline row's; `design` is the factor on the variance of a mean that comes of rows of
    one block, or of one slice of time, being slow together.
    """

    before: Floats
    now: Floats
    weights: Floats
    centre: float
    variance: float
    design: float

    @classmethod
    def of(cls, before: Floats, now: Floats, weights: Floats, shared: tuple[Ints, ...]) -> "_Score":
        centre = float((weights * before).sum() / weights.sum())
        apart = (before - centre) * weights
        together = [float(np.square(np.bincount(group, apart)).sum()) for group in shared]
        alone = float(np.square(apart).sum())
        return cls(
            before,
            now,
            weights,
            centre,
            alone / before.size,
            max(1.0, max(together) / alone) if alone > 0 else 1.0,
        )


def _uneven(candidate: Candidate, score: _Score) -> tuple[Partition | None, float]:
    """Split off the groups whose score moved otherwise than most, and say how much chi-squared that is."""
    size = candidate.groups.count
    a = _moments(candidate.a, score.before, score.weights, size)
    b = _moments(candidate.b, score.now, np.ones(score.now.size), size)
    lacking, present = a.rows < LEAST_ROWS, b.rows >= LEAST_ROWS
    if int(present.sum()) < 2 or score.variance <= 0:
        return None, 0.0
    mean_a = np.where(lacking, score.centre, a.mean)
    rows_a = np.where(lacking, score.before.size, a.rows)
    # A group that is unlike the others (always slow, say) varies more in its score than all rows do.
    variance_a = np.maximum(score.variance, np.where(lacking, 0.0, a.variance))
    variance_b = np.maximum(variance_a, b.variance)
    moved = np.where(present, b.mean - mean_a, 0.0)
    error = np.sqrt(score.design * (variance_a / rows_a + variance_b / np.maximum(b.rows, 1)))
    middle = _weighted_median(moved[present], b.rows[present])
    apart = present & (np.abs(moved - middle) > APART * error)
    if not apart.any():
        return None, 0.0
    gain = float((((moved - middle) / error)[apart] ** 2 - PART_COST).sum())
    gain *= 1.0 if candidate.groups.names and not lacking[apart].any() else BORROWED
    number = np.zeros(size + 1, dtype=np.int64)
    for side in (apart & (moved > middle), apart & (moved < middle)):
        number[:-1][side] = 1 + number.max() + _alike(moved[side], b.rows[side], error[side])
    return Partition(candidate.groups, number), gain


def _alike(moved: Floats, rows: Floats, error: Floats) -> Ints:
    """Number the parts that were hit: all 0 if they were hit alike, else each its own."""
    if moved.size and bool((np.abs(moved - _weighted_median(moved, rows)) <= APART * error).all()):
        return np.zeros(moved.size, dtype=np.int64)
    return np.arange(moved.size)


@dataclass(frozen=True)
class _Moments:
    """Rows, mean and variance of a score in each group."""

    rows: Floats
    mean: Floats
    variance: Floats


def _moments(group: Ints, score: Floats, weights: Floats, size: int) -> _Moments:
    sums = [np.bincount(group, weights * power, size + 1)[:-1] for power in (1.0, score, np.square(score))]
    mass = np.where(sums[0] > 0, sums[0], 1.0)
    rows = np.bincount(group, minlength=size + 1)[:-1].astype(np.float64)
    mean = sums[1] / mass
    return _Moments(rows, mean, np.maximum(0.0, sums[2] / mass - np.square(mean)))


def _weighted_median(values: Floats, weights: Floats) -> float:
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, reached[-1] / 2)])
