"""The loop of `otel-attrib watch`, one step at a time: count what ended, judge it, ask why.

Everything is learned from the store when it starts, once an hour and when a service is new, so nothing has
to be kept between runs. A second is judged when it is LAG_S old, because spans come in batches. The store
may fail at any step: the step raises, and the next one takes up where the last that worked ended.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta

from otel_attrib.analytics.detection.counts import Bins, Series, fetch_bins, fetch_limits, fetch_series
from otel_attrib.analytics.detection.detector import QUIET_S, Detector
from otel_attrib.analytics.detection.incident import (
    AGAIN_S,
    LASTING,
    OPEN,
    OVER,
    Incident,
    size_of,
    time_of,
)
from otel_attrib.analytics.detection.season import Season
from otel_attrib.analytics.filters import EVERY_REQUEST, Filter
from otel_attrib.analytics.limit_grid import LimitGrid
from otel_attrib.analytics.metric import Metric
from otel_attrib.analytics.question import Question
from otel_attrib.analytics.report import Report
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.reports import ReportRow
from otel_attrib.schema.store import Store

__all__ = ["LAG_S", "Judged", "Watcher"]

LAG_S = 6
HOUR_S, DAY_S = 3600, 86_400
LEARN_EVERY_S = 3600.0
NEWCOMERS_EVERY_S = 60.0
EARLIER_DAYS = 7
BACKLOG_S = 900.0  # what is caught up with after the store was away; the rest is skipped
BACKING = 20.0  # expected exceedances that a series' own baseline rate is set against
CLOCK_BACK_S = 60.0  # a clock that is set back by more has been wrong
LEAST_ROWS = 200  # of the baseline, below which a series is not watched

Explain = Callable[[Store, Question], Report]


@dataclass(frozen=True, slots=True)
class Judged:
    """One answer about one incident; `news` when it says something that was not said before."""

    incident: Incident
    report: Report
    row: ReportRow
    news: bool


@dataclass(slots=True)
class Watcher:
    """State of the watch over every service and model that `where` lets through."""

    store: Store
    explain: Explain
    metric: Metric
    level: float
    where: Filter = EVERY_REQUEST
    before: timedelta = timedelta(hours=1)
    alarms_per_day: float = 1.0
    limits: LimitGrid | None = None
    detectors: dict[Series, Detector] = field(default_factory=dict)
    incidents: dict[Series, Incident] = field(default_factory=dict)
    until: int = 0
    lag_s: int = LAG_S
    again_s: tuple[float, ...] = AGAIN_S
    backlog_s: float = BACKLOG_S
    learned_at: float = 0.0
    looked_at: float = 0.0
    now: float = 0.0
    passed_over: set[Series] = field(default_factory=set)

    def learn(self, now: float) -> None:
        """Fit limits, rates and dispersion to the time up to `now` (seconds since 1970)."""
        end = int(now) - self.lag_s
        window = Window(time_of(end) - self.before, time_of(end))
        limits = fetch_limits(self.store, self.metric, window, self.where, self.level)
        past = fetch_bins(self.store, self.metric, window, self.where, limits) if limits.models else {}
        self.limits = limits
        watched = {series: bins for series, bins in past.items() if bins.n.sum() >= LEAST_ROWS}
        usual = self._seasons(end, limits) if watched else {}
        self.detectors = {
            series: self._detector(bins, usual.get(series) or Season(), len(watched))
            for series, bins in watched.items()
        }
        self.until, self.learned_at = max(self.until, end), now

    def _seasons(self, end: int, limits: LimitGrid) -> dict[Series, Season]:
        """Return what was usual on earlier days in the hour that runs and the next."""
        seasons: dict[Series, Season] = {}
        hour = end // HOUR_S * HOUR_S
        for day in range(EARLIER_DAYS, 0, -1):
            start = hour - day * DAY_S
            window = Window(time_of(start), time_of(start + 2 * HOUR_S))
            found = fetch_bins(self.store, self.metric, window, self.where, limits)
            for series, bins in found.items():
                season = seasons.setdefault(series, Season())
                for time, n, exceed in bins:
                    season.add(time, n, exceed)
        return seasons

    def _detector(self, bins: Bins, season: Season, watched: int) -> Detector:
        """Return a detector that knows the series' past."""
        rate = (bins.exceed.sum() + BACKING) / (bins.n.sum() + BACKING / (1 - self.level))
        # The rate of alarms asked for is that of the whole watch, so each series has its part of it.
        detector = Detector(float(rate), alarms_per_day=self.alarms_per_day / watched)
        detector.season = season
        detector.learn(bins)
        return detector

    def step(self, now: float) -> list[Judged]:
        """Count what ended since the last step, and return what there is to say about it."""
        before, self.now = self.now, now
        if now < before - CLOCK_BACK_S:
            return self._anew(now)
        if not self.incidents and (now - self.learned_at >= LEARN_EVERY_S or self._newcomers(now)):
            self.learn(now)
        end = int(now) - self.lag_s
        start = max(self.until, end - int(self.backlog_s))
        if self.limits is None or not self.limits.models or end <= start:
            return []
        window = Window(time_of(start), time_of(end))
        counted = fetch_bins(self.store, self.metric, window, self.where, self.limits)
        over = [series for series in self.detectors if self._feed(series, counted, window)]
        self.until = end
        return list(self._judge(now, over))

    def _anew(self, now: float) -> list[Judged]:
        """End what there is and learn again: a clock was ahead, and nothing waits until it is that late."""
        self.until = int(now) - self.lag_s
        ended = list(self._judge(now, list(self.incidents)))
        self.looked_at = 0.0
        self.learn(now)
        return ended

    def _newcomers(self, now: float) -> bool:
        """Return whether a service and model came that nothing was learned of; asked once a minute.

        What has requests and not the metric is passed over until the hour is up.
        """
        if now - max(self.looked_at, self.learned_at) < NEWCOMERS_EVERY_S:
            return False
        self.looked_at = now
        end = int(now) - self.lag_s
        window = Window(time_of(end) - self.before, time_of(end))
        unknown = fetch_series(self.store, window, self.where, LEAST_ROWS) - set(self.detectors)
        new = unknown - self.passed_over
        self.passed_over = unknown
        return bool(new)

    def _feed(self, series: Series, counted: dict[Series, Bins], window: Window) -> bool:
        """Give a detector its bins; return whether its incident ended with them."""
        detector, bins = self.detectors[series], counted.get(series)
        seconds = range(int(window.start.timestamp()), int(window.end.timestamp()))
        for time, n, exceed in bins or ((float(second), 0.0, 0.0) for second in seconds):
            alarm = detector.update(time, n, exceed)
            if alarm and series not in self.incidents:
                due = [alarm.time + wait for wait in self.again_s]
                self.incidents[series] = Incident(series, alarm, due)
        return series in self.incidents and detector.incident is None

    def _judge(self, now: float, over: list[Series]) -> Iterator[Judged]:
        for series, incident in list(self.incidents.items()):
            lasting = now - incident.alarm.onset >= self.before.total_seconds()
            ended = OVER if series in over else LASTING if lasting else ""
            if not (ended or not incident.state or now >= incident.due[0]):
                continue
            yield self._answer(incident, now, ended)
            incident.due = [time for time in incident.due if time > now] or [now + HOUR_S]
            if ended:
                del self.incidents[series]
            if ended == LASTING:
                self.learned_at = 0.0  # the next step learns what is normal now

    def _answer(self, incident: Incident, now: float, ended: str) -> Judged:
        until = self.until - (QUIET_S if ended == OVER else 0.0)
        question = incident.question(self.metric, self.level, self.where, self.before, until)
        report = self.explain(self.store, question)
        state, verdict = ended or size_of(report), report.verdict.word
        changed = (state, verdict) != (incident.state, incident.verdict)
        news = changed and (state == OPEN or (bool(ended) and (incident.told or not incident.state)))
        incident.state, incident.verdict, incident.told = state, verdict, incident.told or news
        return Judged(incident, report, incident.row(report, now, state, self.level), news)
