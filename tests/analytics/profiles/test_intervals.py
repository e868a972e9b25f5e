"""Unions and intersections of intervals against sets of single nanoseconds."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_attrib.analytics.profiles.intervals import Spans

LATE = 1 << 61  # as far from zero as times come: half of what a float can no longer tell apart
INTERVALS = st.lists(st.tuples(st.integers(0, 60), st.integers(-2, 12)), max_size=25)
Pairs = list[tuple[int, int]]


def spans(pairs: Pairs) -> Spans:
    """The union, late in time."""
    start = np.array([LATE + start for start, _ in pairs], np.int64)
    length = np.array([length for _, length in pairs], np.int64)
    return Spans.of(start, start + length)


def cells(pairs: Pairs) -> set[int]:
    """The same time as a set of nanoseconds."""
    return {LATE + at for start, length in pairs for at in range(start, start + length)}


def cells_of(found: Spans) -> list[int]:
    """Every nanosecond of some spans, as often as they hold it."""
    pairs = zip(found.start_ns.tolist(), found.end_ns.tolist(), strict=True)
    return [at for start, end in pairs for at in range(start, end)]


def is_normal(found: Spans) -> bool:
    """Sorted, not empty, neither overlapping nor touching."""
    return bool((found.end_ns > found.start_ns).all() and (found.start_ns[1:] > found.end_ns[:-1]).all())


@settings(deadline=None)
@given(INTERVALS)
def test_union(pairs: Pairs) -> None:
    """A union holds each nanosecond of its intervals once, in disjoint spans."""
    found = spans(pairs)

    assert sorted(cells(pairs)) == cells_of(found)
    assert len(cells(pairs)) == found.length_ns
    assert is_normal(found)


@settings(deadline=None)
@given(INTERVALS, INTERVALS)
def test_intersection_and_union_of_two(one: Pairs, two: Pairs) -> None:
    """What is in both and in either is what the sets of nanoseconds say."""
    a, b = spans(one), spans(two)

    assert sorted(cells(one) & cells(two)) == cells_of(a & b)
    assert sorted(cells(one) | cells(two)) == cells_of(a | b)
    assert is_normal(a & b)
    assert a.length_ns + b.length_ns == (a | b).length_ns + (a & b).length_ns


@settings(deadline=None)
@given(INTERVALS)
def test_gaps(pairs: Pairs) -> None:
    """Spans and their gaps fill the time from the first start to the last end, and share none of it."""
    found = spans(pairs)
    gaps = found.gaps()

    assert 0 == (found & gaps).length_ns
    assert len((found | gaps).start_ns) == (1 if len(found.start_ns) else 0)


def test_nothing() -> None:
    """No intervals are no time."""
    assert 0 == spans([]).length_ns == (spans([]) & spans([(1, 5)])).length_ns
