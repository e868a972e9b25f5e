"""When totals began: first sight, a fall, and who is forgotten."""

import numpy as np

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
