"""Reads as columns: what is no measurement is refused, what comes again is the same layout."""

import math

import pytest

from otel_attrib.collector.agent.readings import Layouts
from otel_attrib.collector.agent.source import Series, series

CLOCK, THROTTLED, ERRORS, HEAT = (
    series("gpu_clock", "0"),
    series("gpu_throttled", "0"),
    series("xid", "0"),
    series("gpu_temperature", "0"),
)


def test_good_values_pass_in_order() -> None:
    """Series and values come out as they went in, whole numbers as floats."""
    readings, refused = Layouts().taken([(CLOCK, 1980), (ERRORS, 0), (HEAT, -3.5)])

    assert [(CLOCK, 1980.0), (ERRORS, 0.0), (HEAT, -3.5)] == list(readings)
    assert [] == refused


@pytest.mark.parametrize(
    ("one", "value"),
    [
        (CLOCK, 5000.5),
        (THROTTLED, 1.0000001),
        (ERRORS, -1.0),
        (HEAT, math.nan),
        (HEAT, math.inf),
        (HEAT, -math.inf),
        (ERRORS, math.inf),
    ],
    ids=["above most", "above one", "negative total", "NaN", "infinite", "minus infinite", "infinite total"],
)
def test_what_is_no_measurement_is_refused(one: Series, value: float) -> None:
    """One value is taken out, told with its series, and the others stay."""
    readings, refused = Layouts().taken([(CLOCK, 1.0), (one, value), (HEAT, 40.0)])

    assert [(CLOCK, 1.0), (HEAT, 40.0)] == list(readings)
    assert [repr((one, value))] == [repr(pair) for pair in refused]


def test_the_bound_itself_is_a_measurement() -> None:
    """A link or share that is full is not refused."""
    readings, refused = Layouts().taken([(THROTTLED, 1.0), (CLOCK, 5000.0)])

    assert 2 == len(readings)
    assert [] == refused


def test_the_same_series_are_the_same_layout() -> None:
    """What is kept per layout is made once; other series, or another order, are another one."""
    layouts = Layouts()
    first, again, other = (
        layouts.taken([(a, 1.0), (b, 1.0)])[0] for a, b in 2 * [(CLOCK, HEAT)] + [(HEAT, CLOCK)]
    )

    assert first.layout is again.layout
    assert first.layout is not other.layout


def test_few_layouts_are_remembered() -> None:
    """A source that makes new series at every read does not grow what is kept."""
    layouts = Layouts(remembered=3)
    for number in range(50):
        layouts.taken([(series("gpu_clock", str(number)), 1.0)])

    assert 3 == len(layouts._known)


def test_nothing_read_is_nothing() -> None:
    """An empty read is a batch of length nought."""
    readings, refused = Layouts().taken([])

    assert ([], []) == (list(readings), refused)


def test_a_batch_is_a_sequence() -> None:
    """Index, slice and length agree with the iteration."""
    readings = Layouts().taken([(CLOCK, 1.0), (HEAT, 2.0), (ERRORS, 3.0)])[0]

    assert [readings[i] for i in range(len(readings))] == list(readings)
    assert list(readings)[1:] == readings[1:]
