"""What the watch says of an incident from its first second to its last, with made-up counts and answers."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from otel_attrib.analytics.detection import watcher as watching
from otel_attrib.analytics.detection.counts import Bins, Series
from otel_attrib.analytics.detection.watcher import Judged, Watcher
from otel_attrib.analytics.intervals import Estimate
from otel_attrib.analytics.limit_grid import LimitGrid
from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.question import Question
from otel_attrib.analytics.report import Report, Side
from otel_attrib.analytics.verdict import Verdict
from otel_attrib.analytics.windows import Window

START = 1_777_636_800
SERIES: Series = ("chat", "m")
Fault = Callable[[np.ndarray], np.ndarray]


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Callable[[Fault], None]:
    """Let the store tell of 100 requests a second, of which 1 % × fault(second) exceed their limit."""

    def fetch(fault: Fault, window: Window) -> dict[Series, Bins]:
        first, last = int(window.start.timestamp()), int(window.end.timestamp())
        if last <= START - 86_400 + 7200:
            return {}  # nothing is stored of earlier days
        seconds = np.arange(first, last)
        rates = 0.01 * fault(seconds - START)
        draws = [np.random.default_rng(s).binomial(100, r) for s, r in zip(seconds, rates, strict=True)]
        return {SERIES: Bins(first, np.full(seconds.size, 100.0), np.array(draws, dtype=np.float64))}

    def put(fault: Fault) -> None:
        grid = LimitGrid(("m",), 1, np.ones(320))
        monkeypatch.setattr(watching, "fetch_limits", lambda *_: grid)
        monkeypatch.setattr(watching, "fetch_bins", lambda *asked: fetch(fault, asked[2]))
        monkeypatch.setattr(watching, "fetch_series", lambda *_: {SERIES})

    return put


def answering(delta_ms: float) -> Callable[[Any, Question], Report]:
    """An explanation that gives every question the same change over 100 ms."""

    def explain(store: Any, question: Question) -> Report:
        return Report(
            verdict=Verdict("GLOBAL", "made up"),
            metric=question.metric,
            level=question.level,
            baseline=Side(question.baseline, 1000, 100.0),
            current=Side(question.current, 1000, 100.0 + delta_ms),
            delta=Estimate(delta_ms, 1.0, 10.0),
            p_regression=0.9,
            stages={},
            exemplars=(),
            checks={},
            where=question.where.as_dict(),
        )

    return explain


def watched(delta_ms: float, minutes: int, before: timedelta = timedelta(hours=1)) -> list[Judged]:
    """Watch so many minutes, with a look every ten seconds."""
    store: Any = None
    watch = Watcher(store, answering(delta_ms), METRICS["ttft"], 0.99, before=before, lag_s=0)
    watch.learn(START)
    return [found for at in range(10, 60 * minutes, 10) for found in watch.step(START + at)]


def test_an_incident_from_first_to_last(counts: Callable[[Fault], None]) -> None:
    """Ten minutes of a fault: told when it begins and when it is over, judged twice in between."""
    counts(lambda second: np.where((second >= 300) & (second < 900), 6.0, 1.0))

    found = watched(50.0, minutes=20)

    assert ["open", "open", "open", "over"] == [judged.row.state for judged in found]
    assert [True, False, False, True] == [judged.news for judged in found]
    assert 1 == len({judged.row.incident for judged in found})
    onset = datetime.fromtimestamp(START + 300, UTC)
    assert all(abs(judged.row.onset - onset) <= timedelta(seconds=5) for judged in found)
    windows = [judged.report.current.window for judged in found]
    assert windows == sorted(windows, key=lambda window: window.end)
    assert abs(windows[-1].end - datetime.fromtimestamp(START + 900, UTC)) <= timedelta(seconds=60)


def test_small_is_kept_but_not_told(counts: Callable[[Fault], None]) -> None:
    """More exceedances that move the P99 by less than 5 ms are no news from first to last."""
    counts(lambda second: np.where((second >= 300) & (second < 900), 6.0, 1.0))

    found = watched(4.0, minutes=20)

    assert ["small", "small", "small", "over"] == [judged.row.state for judged in found]
    assert not any(judged.news for judged in found)


def test_what_lasts_becomes_normal(counts: Callable[[Fault], None]) -> None:
    """A change as old as the baseline is closed, learned, and raises nothing again."""
    counts(lambda second: np.where(second >= 300, 6.0, 1.0))

    found = watched(50.0, minutes=60, before=timedelta(minutes=20))

    assert "lasting" == found[-1].row.state
    assert found[-1].news
    assert ["open"] * (len(found) - 1) == [judged.row.state for judged in found[:-1]]


def test_quiet_is_quiet(counts: Callable[[Fault], None]) -> None:
    """Two hours of one in a hundred raise nothing."""
    counts(lambda second: np.ones_like(second, dtype=np.float64))

    assert [] == watched(50.0, minutes=120)


def test_too_few_rows_are_not_watched(counts: Callable[[Fault], None], monkeypatch: Any) -> None:
    """A series with fewer than 200 requests in the baseline has no detector."""
    few = {SERIES: Bins(START - 3600, np.array([199.0]), np.array([2.0]))}
    monkeypatch.setattr(watching, "fetch_limits", lambda *_: LimitGrid(("m",), 1, np.ones(320)))
    monkeypatch.setattr(watching, "fetch_bins", lambda *_: few)
    store: Any = None
    watch = Watcher(store, answering(50.0), METRICS["ttft"], 0.99)

    watch.learn(START)

    assert {} == watch.detectors


def test_a_new_service_is_learned_within_a_minute(
    counts: Callable[[Fault], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What came after the start is learned a minute later, and what cannot be is not tried again."""
    counts(lambda second: np.ones(second.size))
    watch = Watcher(None, answering(50.0), METRICS["ttft"], 0.99, lag_s=0)  # type: ignore[arg-type]
    watch.learn(START)
    learned: list[float] = []
    monkeypatch.setattr(Watcher, "learn", lambda self, now: learned.append(now))
    monkeypatch.setattr(watching, "fetch_series", lambda *_: {SERIES, ("new", "m")})
    for at in range(10, 600, 10):
        watch.step(START + at)

    assert [START + 60] == learned


@pytest.mark.parametrize("wrong_s", [3600.0, 30 * 86_400.0])
def test_a_clock_that_was_ahead_blinds_nobody(counts: Callable[[Fault], None], wrong_s: float) -> None:
    """A clock was an hour or a month ahead for a minute and is set right: the next fault is seen at once."""
    counts(lambda second: np.where((second >= 300) & (second < 900), 6.0, 1.0))
    store: Any = None
    watch = Watcher(store, answering(50.0), METRICS["ttft"], 0.99, lag_s=0)
    watch.learn(START)
    for at in (*range(10, 120, 10), *(wrong_s + at for at in range(120, 180, 10))):
        watch.step(START + at)

    found = [judged for at in range(180, 1200, 10) for judged in watch.step(START + at)]

    assert not watch.incidents
    assert ("open", "over") == (found[0].row.state, found[-1].row.state)
    assert abs(found[0].row.onset - datetime.fromtimestamp(START + 300, UTC)) <= timedelta(seconds=5)


def test_an_incident_is_judged_hourly_while_it_lasts(counts: Callable[[Fault], None]) -> None:
    """With a baseline of many hours too an incident says at least once an hour that it goes on."""
    counts(lambda second: np.where(second >= 300, 6.0, 1.0))

    found = watched(50.0, minutes=60 * 7, before=timedelta(hours=6))

    times = [judged.row.time for judged in found]
    assert "lasting" == found[-1].row.state
    assert all(
        later - sooner <= timedelta(hours=1, seconds=20)
        for sooner, later in zip(times, times[1:], strict=False)
    )


def test_what_a_wrong_clock_saw_is_over_when_it_is_set_right(counts: Callable[[Fault], None]) -> None:
    """An incident that was under way at a time that never came ends, so that its alert does."""
    counts(lambda second: np.where((second >= 3600) & (second < 9000), 6.0, 1.0))
    store: Any = None
    watch = Watcher(store, answering(50.0), METRICS["ttft"], 0.99, lag_s=0)
    watch.learn(START)
    ahead = [judged for at in range(3500, 3700, 10) for judged in watch.step(START + at)]

    found = watch.step(START + 100)

    assert ("open", "over") == (ahead[-1].row.state, found[0].row.state)
    assert ahead[-1].row.incident == found[0].row.incident
    assert not watch.incidents
