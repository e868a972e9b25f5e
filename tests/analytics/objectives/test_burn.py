"""The workbook's burn windows, for its own 30 days and for other windows."""

from datetime import timedelta

import pytest

from otel_attrib.analytics.objectives import burn_windows

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def test_thirty_days_are_the_workbooks() -> None:
    """Factors, windows, severities and shares of the budget are those of the SRE workbook's table."""
    assert [
        (14.4, 1 * HOUR, HOUR / 12, "page", 0.02),
        (6.0, 6 * HOUR, HOUR / 2, "page", 0.05),
        (3.0, DAY, 2 * HOUR, "ticket", 0.1),
        (1.0, 3 * DAY, 6 * HOUR, "ticket", 0.1),
    ] == [(pair.factor, pair.long, pair.short, pair.severity, pair.share) for pair in burn_windows()]


@pytest.mark.parametrize("hours", [1, 2, 5, 24, 36, 7 * 24, 28 * 24, 90 * 24, 366 * 24])
def test_a_pair_keeps_its_share_of_the_budget(hours: int) -> None:
    """For every window: burning at the factor through the long window takes the share that is told."""
    window = hours * HOUR
    pairs = burn_windows(window)

    assert pairs
    for pair in pairs:
        assert pair.share == pytest.approx(pair.factor * (pair.long / window), rel=1e-5)
        assert pair.factor >= 1
        assert timedelta(minutes=1) <= pair.short < pair.long <= window
        assert timedelta(0) == pair.long % timedelta(minutes=1) == pair.short % timedelta(minutes=1)


def test_windows_grow_with_the_objectives() -> None:
    """For 90 days the windows are three times those of 30 and the factors the same."""
    for month, quarter in zip(burn_windows(30 * DAY), burn_windows(90 * DAY), strict=True):
        assert (month.factor, 3 * month.long, 3 * month.short) == (
            quarter.factor,
            quarter.long,
            quarter.short,
        )


def test_a_pair_that_would_alert_on_a_budget_met_is_left_out() -> None:
    """In one hour, 2 % of the budget in five minutes is a burn rate of 0.24: no alert."""
    assert [0.1, 0.1] == [pair.share for pair in burn_windows(HOUR)]
