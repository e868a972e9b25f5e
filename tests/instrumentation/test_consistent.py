"""Consistent sampling by the trace id, against the values that OpenTelemetry's specification gives."""

import random

import pytest

from otel_attrib.instrumentation.sampling.consistent import (
    SPACE,
    adjusted_count,
    randomness,
    threshold,
    threshold_before,
)


@pytest.mark.parametrize(
    ("share", "digits", "count"), [(1, "0", 1), (0.5, "8", 2), (0.25, "c", 4), (1 / 16, "f", 16)]
)
def test_thresholds_of_the_specification(share: float, digits: str, count: float) -> None:
    """Half is th:8, a quarter th:c, a sixteenth th:f; one kept stands for 2, 4, 16."""
    expected = int(digits.ljust(14, "0"), 16)

    assert expected == threshold(share)
    assert expected == threshold_before(f"ot=th:{digits}")
    assert count == adjusted_count(expected)


def test_randomness_is_rv_else_the_last_seven_bytes() -> None:
    """`rv` of the trace state wins over the trace id's last 14 hexadecimal digits."""
    trace_id = 0x4BF92F3577B34DA6A3CE929D0E0E4736

    assert 0xCE929D0E0E4736 == randomness(trace_id, "")
    assert 0x6E6D1A75832A2F == randomness(trace_id, "congo=1,ot=th:0;rv:6e6d1a75832a2f")
    assert 0xCE929D0E0E4736 == randomness(trace_id, "ot=rv:123")


@pytest.mark.parametrize(
    "state", ["", "ot=rv:6e6d1a75832a2f", "bot=th:8", "ot=th:", "ot=th:G", "ot=th:123456789abcdef"]
)
def test_no_threshold(state: str) -> None:
    """Whatever is no threshold says that nothing was sampled away."""
    assert 0 == threshold_before(state)


def test_a_larger_share_keeps_what_a_smaller_one_keeps() -> None:
    """Services with different shares choose consistently, each as many as its share says."""
    chance = random.Random(4)
    traces = [chance.getrandbits(128) for _ in range(20_000)]

    tenth, half = ({one for one in traces if randomness(one, "") >= threshold(p)} for p in (0.1, 0.5))

    assert tenth < half
    assert SPACE == 2**56
    assert pytest.approx(2000, rel=0.1) == len(tenth)
    assert pytest.approx(10_000, rel=0.04) == len(half)
