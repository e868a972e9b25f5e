"""The shipped traffic is the published one, and pacing keeps its shape."""

from statistics import mean

import pytest

from otel_attrib.demo.arrivals import Arrival, load, paced


def test_excerpt_is_as_published() -> None:
    """The first row is row 1,001 of the published file, and there are 1,500."""
    arrivals = load()

    assert 1500 == len(arrivals)
    assert Arrival(0.0, 1052, 20) == arrivals[0]
    assert arrivals == sorted(arrivals, key=lambda arrival: arrival.at)


def test_pacing_meets_the_rate() -> None:
    """Paced to 20 a second, n arrivals take (n - 1)/20 seconds."""
    arrivals = paced(load()[:401], 20.0, 5.0)

    assert 400 / 20 == pytest.approx(arrivals[-1].at)


def test_pacing_keeps_bursts_and_lengths() -> None:
    """Gaps shorter than the longest silence keep their proportions; lengths are untouched."""
    before = [Arrival(at, 10, 2) for at in (0.0, 1.0, 3.0, 3.5, 103.5)]
    after = paced(before, 2.0, 1.5)
    gaps = [b.at - a.at for a, b in zip(after, after[1:], strict=False)]

    assert mean(gaps) == pytest.approx(0.5)
    assert gaps[1] == pytest.approx(2 * gaps[0])
    assert gaps[2] == pytest.approx(gaps[0] / 2)
    # Silence of 100 s cut to 1.5 mean gaps of 25.875 s, before all are scaled alike.
    assert gaps[3] / gaps[0] == pytest.approx(1.5 * 103.5 / 4)
    assert [(10, 2)] * 5 == [(arrival.prompt_tokens, arrival.output_tokens) for arrival in after]
