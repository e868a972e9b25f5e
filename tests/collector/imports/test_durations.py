"""What stamps say of one request: never across two clocks, and the stages add up to TTFT."""

import pytest

from otel_attrib.collector.imports.clocks import Clock
from otel_attrib.collector.imports.durations import durations, misordered, origin_of
from otel_attrib.collector.imports.mapping import STAMPS

ONE = (Clock("wall", STAMPS, True),)
TWO = (Clock("wall", ("arrival",), True), Clock("engine", STAMPS[1:], False))
MS = 1_000_000
AT = {"arrival": 0, "queued": 5 * MS, "scheduled": 25 * MS, "first_token": 125 * MS, "last_token": 1_125 * MS}


def test_one_clock() -> None:
    """With one clock everything is measured from the arrival."""
    took = durations(AT, ONE, "arrival", 101)

    assert (125_000.0, 1_125_000.0, 10_000.0) == (took.ttft_us, took.e2e_us, took.tpot_us)
    assert {"ingress": 5_000.0, "queue": 20_000.0, "prefill": 100_000.0, "outside": 0.0} == took.stages


def test_two_clocks() -> None:
    """With the arrival elsewhere TTFT starts at the queue and ingress is not observed."""
    took = durations(AT | {"arrival": 10**18}, TWO, origin_of(STAMPS, TWO), 101)

    assert (120_000.0, 1_120_000.0, 10_000.0) == (took.ttft_us, took.e2e_us, took.tpot_us)
    assert {"queue": 20_000.0, "prefill": 100_000.0, "outside": 0.0} == took.stages


@pytest.mark.parametrize(
    ("clocks", "wanted", "expected"),
    [
        (ONE, "auto", "arrival"),
        (ONE, "queued", "queued"),
        (TWO, "auto", "queued"),
        (TWO, "arrival", ""),
        ((Clock("a", ("arrival", "queued", "scheduled"), True), Clock("b", STAMPS[3:], True)), "auto", ""),
    ],
    ids=["one", "one-asked", "two", "two-asked", "split-before-first-token"],
)
def test_origin(clocks: tuple[Clock, ...], wanted: str, expected: str) -> None:
    """TTFT starts at the arrival, else at the queue, else it is not measured."""
    assert expected == origin_of(STAMPS, clocks, wanted)


def test_what_no_stage_explains_is_outside() -> None:
    """Without a scheduled stamp neither queue nor prefill is known, and the time is not hidden."""
    at = {name: ns for name, ns in AT.items() if name != "scheduled"}
    took = durations(at, ONE, "arrival", None)

    assert {"ingress": 5_000.0, "outside": 120_000.0} == took.stages
    assert took.tpot_us is None


def test_no_token() -> None:
    """A request that was never scheduled has no TTFT, and its last stage is the queue."""
    took = durations({"arrival": 0, "queued": 5 * MS}, ONE, "arrival", 0)

    assert (None, None, None) == (took.ttft_us, took.e2e_us, took.tpot_us)
    assert ({"ingress": 5_000.0}, "queue") == (took.stages, took.last_stage)


@pytest.mark.parametrize(("tokens", "expected"), [(0, None), (1, None), (2, 1_000_000.0)])
def test_tpot_needs_two_tokens(tokens: int, expected: float | None) -> None:
    """TPOT is per token after the first."""
    assert expected == durations(AT, ONE, "arrival", tokens).tpot_us


def test_misordered_inside_a_clock_only() -> None:
    """Order is asked for inside a clock, across missing stamps too, and never between clocks."""
    late = {"arrival": 10**18, "queued": 9 * MS, "first_token": 8 * MS}

    assert "first_token is 1.000 ms before queued" == misordered(late, TWO)
    assert misordered(AT | {"arrival": 10**18}, TWO) is None
