"""When totals began: first sight, a fall, and who is forgotten."""

import numpy as np
import pytest

from otel_attrib.collector.agent import starts as module
from otel_attrib.collector.agent.source import series
from otel_attrib.collector.agent.starts import Starts

A, B = series("xid", "0"), series("xid", "1")


def test_first_sight_is_the_start() -> None:
    """Both totals begin at their first reading and keep that start in later rounds."""
    starts = Starts()
    first = starts.of([A, B], np.array([10, 20]), np.array([[1.0, 5.0], [2.0, 5.0]]))
    later = starts.of([A], np.array([30]), np.array([[2.0]]))

    assert [[10, 10], [10, 10]] == first.tolist()
    assert [[10]] == later.tolist()


def test_a_fall_is_a_new_start() -> None:
    """From the reading that is lower the total has begun anew, within a round and between two."""
    starts = Starts()
    first = starts.of([A], np.array([10, 20, 30]), np.array([[7.0], [3.0], [4.0]]))
    later = starts.of([A], np.array([40, 50]), np.array([[1.0], [1.0]]))

    assert [[10], [20], [20]] == first.tolist()
    assert [[40], [40]] == later.tolist()


@pytest.mark.parametrize("parts", [[4], [2, 2], [1, 1, 1, 1], [3, 1]])
def test_a_clock_that_was_set_back(parts: list[int]) -> None:
    """No point is before its start, wherever in a round the clock jumps; it goes back once, with it."""
    starts, times, at = Starts(), np.array([1000, 1010, 400, 410]), 0
    found: list[int] = []
    for size in parts:
        values = np.arange(at, at + size, dtype=float)[:, None]
        found += starts.of([A], times[at : at + size], values)[:, 0].tolist()
        at += size

    assert [1000, 1000, 400, 400] == found


def test_a_fall_after_the_clock_was_set_back() -> None:
    """The total begins anew where it fell, not where the clock jumped."""
    times = np.array([1000, 400, 410, 420])
    found = Starts().of([A], times, np.array([[5.0], [6.0], [1.0], [2.0]]))

    assert [1000, 400, 410, 410] == found[:, 0].tolist()


def test_no_totals() -> None:
    """A read of gauges alone has no starts."""
    assert (2, 0) == Starts().of([], np.array([1, 2]), np.empty((2, 0))).shape


def test_totals_that_are_gone_are_forgotten() -> None:
    """Ten thousand totals that each come once do not stay."""
    starts = Starts()
    for number in range(10_000):
        starts.of([series("xid", str(number))], np.array([number]), np.array([[1.0]]))
        starts.forget()

    assert len(starts._seen) <= 2 * module._FORGET_AFTER
