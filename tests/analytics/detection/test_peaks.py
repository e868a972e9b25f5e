"""The threshold is where peaks are as rare as was asked for."""

import numpy as np
import pytest

from otel_attrib.analytics.detection.peaks import Peaks

DAY_S = 86_400


def learned(heights: np.ndarray, every_s: int) -> Peaks:
    """One excursion of each height, every so many seconds."""
    peaks = Peaks()
    for height in heights.tolist():
        peaks.add(height, 1.0)
        peaks.add(-1.0, every_s - 1.0)
    return peaks


@pytest.mark.parametrize("mean", [1.0, 2.0, 4.0])
def test_exponential_peaks(mean: float) -> None:
    """At most one peak a day of an exponential tail is above the threshold, which is not much too high."""
    rng = np.random.default_rng(1)
    heights = rng.exponential(mean, 20_000)

    threshold = learned(heights, 20).threshold(alarms_per_day=1.0)

    expected_above = DAY_S / 20 * np.exp(-threshold / mean)
    assert 0.01 <= expected_above <= 1.0


def test_never_below_the_guarantee() -> None:
    """Bets that climb less than fair ones may are not trusted to go on so: e^−h stays the slope."""
    threshold = learned(np.full(5000, 1.5), 20).threshold(alarms_per_day=1.0)

    assert threshold >= np.log(DAY_S / 20)


def test_fewer_alarms_need_more() -> None:
    """A tenth of the alarms is a higher threshold."""
    peaks = learned(np.random.default_rng(2).exponential(1.0, 2000), 20)

    assert peaks.threshold(0.1) > peaks.threshold(1.0) + 1


def test_nothing_learned_is_cautious() -> None:
    """A detector that knows nothing asks for as much as a fair bet gives once a day at the most."""
    assert Peaks().threshold(1.0) > np.log(DAY_S / 60)
