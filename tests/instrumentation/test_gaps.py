"""Gap statistics are exact, the sketch is within its bound, the packed series comes back."""

import base64
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_attrib.instrumentation import gaps

GAPS = st.lists(st.floats(1, 1e9), min_size=1, max_size=300)


@settings(deadline=None)  # numpy is imported in it
@given(GAPS)
def test_statistics_are_numpys(series: list[float]) -> None:
    """Count, mean, median, p99 and maximum are what numpy says of the same gaps."""
    found = gaps.statistics(series)

    assert found is not None
    assert len(series) == found.count
    assert [np.mean(series), *np.quantile(series, [0.5, 0.99]), max(series)] == pytest.approx(
        [found.mean, found.p50, found.p99, found.max]
    )


def test_no_gap() -> None:
    """One token has no gap, and no statistics."""
    assert [] == gaps.gaps_of([5])
    assert gaps.statistics([]) is None


def test_gaps_are_microseconds() -> None:
    """Nanosecond stamps become gaps in µs."""
    assert [1.5, 0.0, 2.0] == gaps.gaps_of([0, 1500, 1500, 3500])


@given(st.floats(1.0001, 4e9))
def test_sketch_error(gap: float) -> None:
    """The value that a gap's bucket stands for is within 1 % of the gap."""
    assert pytest.approx(gap, rel=0.01) == gaps.bucket_value(gaps.bucket(gap))


@pytest.mark.parametrize(
    ("gap", "index"),
    [(0.0, 0), (1.0, 0), (1.02, 1), (1.0201, 2), (100.0, 233)],
    ids=["nothing", "1 µs", "upper edge of 1", "just above", "ceil(log 100 / log 1.02)"],
)
def test_bucket_edges(gap: float, index: int) -> None:
    """Bucket i holds (1.02^(i−1), 1.02^i] µs; what is at most 1 µs is in bucket 0."""
    assert index == gaps.bucket(gap)


@given(GAPS)
def test_sketch_counts_every_gap(series: list[float]) -> None:
    """The sketch's counts add up to the gaps, in the order of their buckets."""
    pairs = [tuple(map(int, pair.split(":"))) for pair in gaps.sketch(series).split()]

    assert len(series) == sum(count for _, count in pairs)
    assert pairs == sorted(pairs)


def test_packed_series() -> None:
    """The whole series is little-endian uint32 µs in base64, the longest value capped."""
    packed = base64.b64decode(gaps.packed([1.4, 1000.6, 1e12]))

    assert (1, 1001, 2**32 - 1) == struct.unpack("<3I", packed)


def test_stalls_are_the_worst() -> None:
    """Stalls are gaps of five medians and 1 ms at least, the longest first, the late token named."""
    series = [1000.0, 1000.0, 9000.0, 1000.0, 30000.0]

    assert [(5, 30000.0), (3, 9000.0)] == gaps.stalls(series, 1000.0)
    assert [] == gaps.stalls([10.0, 10.0, 900.0], 10.0)
    assert 2 == len(gaps.stalls([5000.0] * 4, 10.0, most=2))
