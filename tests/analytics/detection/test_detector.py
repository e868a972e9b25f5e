"""A detector sees what changed, once, and is quiet about what did not."""

import json
from collections.abc import Iterable

import numpy as np
import pytest

from otel_attrib.analytics.detection import Alarm, Detector

Bins = list[tuple[float, float, float]]
EVENING = 20 * 3600


def bins(seconds: int, ratio: float = 1.0, start: int = 0, seed: int = 1, burst: float = 0.0) -> Bins:
    """A hundred rows a second of which 1 % × ratio exceed; `burst` is the scatter of 5 s rates."""
    rng = np.random.default_rng(seed)
    n = rng.poisson(100, seconds)
    latent = np.repeat(rng.normal(0, burst, seconds // 5 + 1), 5)[:seconds]
    rate = np.minimum(1, 0.01 * ratio * np.exp(latent - burst**2 / 2))
    over = rng.binomial(n, rate)
    return [(float(start + s), float(n[s]), float(over[s])) for s in range(seconds)]


def taught(past: Iterable[tuple[float, float, float]]) -> Detector:
    """A detector that learned from quiet bins."""
    detector = Detector(0.01)
    detector.learn(past)
    return detector


def alarms(detector: Detector, stream: Bins) -> list[Alarm]:
    """Feed a stream; return what it raised."""
    return [alarm for bin_ in stream if (alarm := detector.update(*bin_))]


def test_sees_three_times_as_many() -> None:
    """Half the changes to 3 × at 100 requests a second are seen within ten seconds, all within a minute."""
    delays = []
    for seed in range(60):
        detector = taught(bins(3600, seed=100 + seed))
        (alarm,) = alarms(detector, bins(60, ratio=3.0, start=3600, seed=seed))[:1]
        delays.append(alarm.time + 1 - 3600)

    assert float(np.median(delays)) <= 10
    assert max(delays) <= 60


@pytest.mark.parametrize("burst", [0.0, 0.5, 0.8])
def test_quiet_days_are_quiet(burst: float) -> None:
    """Two days without a change raise two alarms at most, however much the rate scatters."""
    past, quiet = bins(7200, seed=5, burst=burst), bins(172_800, start=7200, seed=6, burst=burst)

    assert len(alarms(taught(past), quiet)) <= 2


def test_one_alarm_an_incident() -> None:
    """Ten minutes of a fault are one alarm; the next fault, after a quiet time, is another."""
    detector = taught(bins(1800))
    stream = [
        *bins(600, ratio=5.0, start=1800, seed=2),
        *bins(600, start=2400, seed=3),
        *bins(600, ratio=5.0, start=3000, seed=4),
    ]

    found = alarms(detector, stream)

    assert 2 == len(found)
    assert abs(found[0].onset - 1800) <= 5 and abs(found[1].onset - 3000) <= 5
    assert 3.5 <= found[0].ratio <= 7


def test_what_went_away_is_no_alarm() -> None:
    """One second of many exceedances, gone before enough is won against it, raises nothing."""
    detector = taught(bins(1800))
    blip = [(1800.0, 100.0, 6.0), *bins(300, start=1801, seed=8)]

    assert [] == alarms(detector, blip)


def test_usual_at_this_hour_is_no_alarm() -> None:
    """Three times as many each evening for three days is no alarm on the fourth; without that past it is."""
    past = [bin_ for day in range(3) for bin_ in bins(3600, 3.0, EVENING + day * 86_400, seed=day)]
    evening = bins(1800, 3.0, EVENING + 3 * 86_400, seed=9)
    knows, does_not = taught(bins(1800)), taught(bins(1800))
    for time, n, exceed in past:
        knows.season.add(time, n, exceed)

    assert [] == alarms(knows, evening)
    assert 1 == len(alarms(does_not, evening))


def test_state_survives_json() -> None:
    """A detector that was written and read in the middle of a stream raises the same alarms."""
    stream = [*bins(400, start=0), *bins(400, ratio=4.0, start=400, seed=3)]
    whole = alarms(Detector(0.01), stream)
    first = Detector(0.01)
    parts = alarms(first, stream[:395])
    second = Detector.of_dict(json.loads(json.dumps(first.as_dict())))

    assert whole == parts + alarms(second, stream[395:])
    assert whole


def test_no_rows_is_no_news() -> None:
    """A service that nobody asks raises nothing, and ends an incident."""
    detector = taught(bins(1800))
    assert alarms(detector, bins(60, ratio=5.0, start=1800, seed=2))

    assert [] == alarms(detector, [(float(1860 + s), 0.0, 0.0) for s in range(600)])
    assert detector.incident is None
