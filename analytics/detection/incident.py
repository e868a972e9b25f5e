"""An alarm and what was said about it: judged when raised, again as rows come in, and when it is over."""

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from otel_attrib.analytics.detection.counts import Series
from otel_attrib.analytics.detection.detector import Alarm
from otel_attrib.analytics.filters import Filter
from otel_attrib.analytics.metric import Metric
from otel_attrib.analytics.question import Question
from otel_attrib.analytics.report import Report
from otel_attrib.analytics.verdict import threshold
from otel_attrib.analytics.windows import Window
from otel_attrib.analytics.wording import digits
from otel_attrib.schema.reports import ReportRow

__all__ = ["AGAIN_S", "LASTING", "OPEN", "OVER", "SMALL", "Incident", "size_of", "time_of"]

OPEN, SMALL, OVER, LASTING = "open", "small", "over", "lasting"
AGAIN_S = (60.0, 300.0, 1800.0)
"""After how long an incident that lasts is judged again: the first seconds hold few rows."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def time_of(seconds: float) -> datetime:
    """Return the time so many seconds after 1970."""
    return EPOCH + timedelta(microseconds=round(seconds * 1_000_000))


@dataclass(slots=True)
class Incident:
    """One alarm of one series.

    `state` is what was last found: open; small, below the least effect; over; lasting, for so long that it
    is taken as the new normal. `told` is whether anybody was told of it, `due` when it is judged again.
    """

    series: Series
    alarm: Alarm
    due: list[float]
    state: str = ""
    verdict: str = ""
    told: bool = False

    def question(
        self, metric: Metric, level: float, where: Filter, before: timedelta, until: float
    ) -> Question:
        """Return what is asked about it: the time since the onset against as much as `before` before it."""
        onset = time_of(self.alarm.onset)
        chosen = dict(where.allowed)
        chosen.update(zip(("service", "model"), ((word,) for word in self.series), strict=True))
        return Question(
            metric=metric,
            level=level,
            baseline=Window(onset - before, onset),
            current=Window(onset, time_of(max(until, self.alarm.onset + 1))),
            where=Filter(tuple(sorted(chosen.items()))),
            notes=(f"the watch saw {digits(self.alarm.ratio)} times the usual exceedances",),
        )

    def row(self, report: Report, now: float, state: str, level: float | None = None) -> ReportRow:
        """Return the row of `reports` that keeps an answer; `level` is the one watched, if another."""
        body = report.as_dict()
        return ReportRow(
            time=time_of(now),
            incident=self.identity(report.metric.name, report.level if level is None else level),
            state=state,
            onset=time_of(self.alarm.onset),
            service=self.series[0],
            model=self.series[1],
            metric=report.metric.name,
            quantile=report.level,
            where=report.where,
            verdict=report.verdict.word,
            layer=next(iter(report.verdict.layers), ""),
            delta_ms=body["delta_ms"],
            report=json.dumps(body, ensure_ascii=False),
            hash=body["hash"],
        )

    def identity(self, metric: str, level: float) -> str:
        """Return the name that all rows of the incident share."""
        text = "\0".join((metric, repr(level), *self.series, repr(self.alarm.onset)))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def size_of(report: Report) -> str:
    """Return whether the rise is above the least effect: `open`, or `small`; `open` when it is not known."""
    if report.delta is None or report.baseline.ms is None:
        return OPEN
    return OPEN if report.delta.value > threshold(report.metric, report.baseline.ms) else SMALL
