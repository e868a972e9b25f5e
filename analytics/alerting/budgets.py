"""Budgets that burn: from the objectives to active alerts and the table of reports.

Each burn says why: what a regression of the same service and model has found already, or else the answer
of `why` for the objective's requests in the short window. Where that abstains it is asked again as rows
come in, and once an hour while the burn lasts.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from otel_attrib.analytics.alerting.active import ActiveAlerts
from otel_attrib.analytics.alerting.alert import Alert
from otel_attrib.analytics.alerting.burning import Burning, Burns
from otel_attrib.analytics.alerting.explaining import explain_soon
from otel_attrib.analytics.alerting.found import Found, found_in
from otel_attrib.analytics.alerting.kinds import BURNS
from otel_attrib.analytics.alerting.making import Maker, burn_incident
from otel_attrib.analytics.alerting.restore import ended_row
from otel_attrib.analytics.detection.incident import AGAIN_S, OPEN, OVER
from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.objectives.objective import Objective
from otel_attrib.analytics.question import Question, pose
from otel_attrib.analytics.report import Report
from otel_attrib.analytics.windows import duration_text
from otel_attrib.schema.reports import ReportRow
from otel_attrib.schema.store import Store

__all__ = ["Budgets"]

HOURLY_S = 3600.0
SHORTEST, LONGEST = timedelta(minutes=5), timedelta(hours=1)


@dataclass(slots=True)
class _Asked:
    """What was found about one burn, and when to ask again."""

    found: Found | None = None
    report: Report | None = None
    due: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Budgets:
    """One thread's: looks at the objectives, and makes active alerts of what burns."""

    burns: Burns
    maker: Maker
    active: ActiveAlerts
    keep: Callable[[ReportRow], None]
    level: float = 0.99
    since: dict[tuple[str, str], datetime] = field(default_factory=dict)
    asked: dict[str, _Asked] = field(default_factory=dict)

    def resume(self, alerts: Iterable[Alert]) -> None:
        """Take over what was burning before a restart: the same budget is the same incident."""
        for alert in alerts:
            if alert.name in BURNS.values():
                self.since[alert.labels["slo"], alert.labels["severity"]] = alert.starts
                self.active.put(alert)

    def step(self, store: Store, now: float) -> None:
        """Look once; `now` is in seconds since 1970."""
        for burning in self.burns.step(store, now):
            burning.since = self.since.pop((burning.objective.name, burning.severity), burning.since)
            self._take(store, burning, now)
        if self.burns.standings and self.since:
            self._end_rest(now)

    def _take(self, store: Store, burning: Burning, now: float) -> None:
        incident = burn_incident(burning.objective.name, burning.severity, burning.since)
        at = datetime.fromtimestamp(now, UTC)
        known = self.active.get(incident)
        if burning.over:
            asked = self.asked.pop(incident, _Asked())
            if known:
                self._put(known.ended(at), burning, asked, at, write=True)
            return
        asked, fresh = self._why(store, incident, burning, now)
        alert = self.maker.burn(burning.objective, burning.burns, asked.found, burning.since)
        alert = self.maker.beside(alert, self.active.related(alert))
        self._put(alert, burning, asked, at, write=fresh or known is None)

    def _why(self, store: Store, incident: str, burning: Burning, now: float) -> tuple[_Asked, bool]:
        """Return what is known of why, and whether it was asked just now."""
        asked = self.asked.setdefault(incident, _Asked(due=[now, *(now + wait for wait in AGAIN_S)]))
        if now < asked.due[0]:
            return asked, False
        asked.due = [time for time in asked.due if time > now] or [now + HOURLY_S]
        asked.report = explain_soon(store, _question(store, burning, self.level))
        asked.found = found_in(asked.report)
        return asked, True

    def _put(self, alert: Alert, burning: Burning, asked: _Asked, at: datetime, write: bool) -> None:
        self.active.put(alert)
        if write:
            self.keep(_row(alert, burning, asked, at, self.level))

    def _end_rest(self, now: float) -> None:
        """End what burnt before a restart and burns no more."""
        at = datetime.fromtimestamp(now, UTC)
        for (name, severity), starts in self.since.items():
            known = self.active.get(burn_incident(name, severity, starts))
            if known:
                self.keep(ended_row(known.ended(at)))
                self.active.put(known.ended(at))
        self.since.clear()


def _question(store: Store, burning: Burning, level: float) -> Question:
    window = min(max(burning.burns[0].pair.short, SHORTEST), LONGEST)
    words = [f"{name}={value}" for name, values in burning.objective.where.allowed for value in values]
    return pose(store, _metric(burning.objective, burning.limit), level, duration_text(window), where=words)


def _metric(objective: Objective, limit: str) -> str:
    return limit if limit in METRICS else objective.limits[0].metric


def _row(alert: Alert, burning: Burning, asked: _Asked, at: datetime, level: float) -> ReportRow:
    """Return the row of `reports`; the report is empty where nothing could be asked."""
    body = asked.report.as_dict() if asked.report else {}
    service, model = alert.group
    return ReportRow(
        time=at,
        incident=alert.incident,
        state=OPEN if alert.firing else OVER,
        onset=burning.since,
        service=service,
        model=model,
        metric=_metric(burning.objective, burning.limit),
        quantile=body.get("quantile", level),
        where={**burning.objective.where.as_dict(), "slo": burning.objective.name},
        verdict=body.get("verdict", ""),
        layer=next(iter(asked.report.verdict.layers), "") if asked.report else "",
        delta_ms=body.get("delta_ms"),
        report=json.dumps(body, ensure_ascii=False) if body else "",
        hash=body.get("hash", ""),
        alert=alert.as_json(),
    )
