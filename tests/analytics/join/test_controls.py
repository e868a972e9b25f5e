"""What is usual, and when a deviation counts."""

import numpy as np
import pytest

from otel_attrib.analytics.join.controls import Control, agreed, control, rates, scale_of
from otel_attrib.schema.context_counters import registered

CLOCK, WAIT = registered("gpu_clock"), registered("run_queue_wait")


def test_totals_are_compared_as_rates() -> None:
    """A stage of 2 s is held against what is usual in 2 s, whatever the length of the stages before."""
    found = control(WAIT, 0.5, [0.1, 0.1, 0.2], 0.05, 2e6)

    assert pytest.approx((0.2, 8.0, 3)) == (found.median, found.z, found.n)
    assert [0.25, pytest.approx(3.0)] == rates(WAIT, np.array([0.5, 0.3]), np.array([2e6, 1e5])).tolist()
    assert [0.25, 0.3] == rates(CLOCK, np.array([0.25, 0.3]), np.array([2e6, 1e5])).tolist()
    assert 1980.0 == control(CLOCK, 1980.0, [1980.0], 1.0, 2e6).median


@pytest.mark.parametrize(
    ("before", "beside", "expected"),
    [
        (None, None, None),
        (5.0, None, 5.0),
        (None, -4.0, -4.0),
        (9.0, 5.0, 5.0),
        (-9.0, -5.0, -5.0),
        (9.0, 0.2, 0.2),
        (9.0, -1.0, 0.0),
    ],
)
def test_both_controls_must_agree(before: float | None, beside: float | None, expected: float | None) -> None:
    """The smaller deviation of the two; what was so before or is so everywhere is not the request's."""
    sides = [None if z is None else Control(1.0, z, 9) for z in (before, beside)]

    assert expected == agreed(*sides)


def test_one_deviation() -> None:
    """1.4826 MAD of the wider group, never below 2 % of the level or the counter's own floor."""
    assert pytest.approx(1.4826 * 100) == scale_of(CLOCK, 1000.0, [900.0, 1000.0, 1100.0], [1000.0])
    assert pytest.approx(20.0) == scale_of(CLOCK, 1000.0, [1000.0] * 5)
    assert pytest.approx(0.01) == scale_of(WAIT, 0.0, [])
