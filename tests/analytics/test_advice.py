"""What would decide it, in numbers that follow from the windows at hand."""

import pytest

from otel_attrib.analytics.advice import more_rows, wider_windows
from otel_attrib.analytics.intervals import Estimate


@pytest.mark.parametrize(
    ("n", "level", "expected"),
    [
        (5000, 0.99, []),
        (4999, 0.99, ["longer windows: 5000 values each, the smaller holds 4999; or --quantile 0.98"]),
        (704, 0.99, ["longer windows: 5000 values each, the smaller holds 704; or --quantile 0.9"]),
        (60, 0.5, ["longer windows: 100 values each, the smaller holds 60"]),
    ],
)
def test_fifty_rows_above(n: int, level: float, expected: list[str]) -> None:
    """Either the window grows, or the quantile comes down to where 50 rows lie above it."""
    assert expected == list(more_rows(n, level, 50))


def test_an_interval_shrinks_with_the_root_of_time() -> None:
    """100 ± 2.101·100 ms (18 degrees) against a limit of 20: ((210.1 / 80)²) = 6.9 times the time."""
    expected = ["windows 6.9 times as long would show the rise, if it stays as it is"]

    assert expected == list(wider_windows(Estimate(100.0, 100.0**2, 18.0), 20.0))


@pytest.mark.parametrize(
    "delta",
    [
        Estimate(100.0, 1.0, 18.0),
        Estimate(19.0, 1.0, 18.0),
        Estimate(-5.0, 100.0, 18.0),
        Estimate(100.0, 0.0, 0.0),
        Estimate(21.0, 100.0**2, 18.0),
    ],
    ids=["shown already", "below the limit", "a fall", "no blocks", "too far off"],
)
def test_no_window_helps(delta: Estimate) -> None:
    """Where the rise is shown, is none, or would take more than a hundred windows, nothing is promised."""
    assert [] == list(wider_windows(delta, 20.0))
