"""Tails that became slower: from the watches to active alerts and the table of reports."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from otel_attrib.analytics.alerting.active import ActiveAlerts
from otel_attrib.analytics.alerting.alert import Alert
from otel_attrib.analytics.alerting.explaining import SAID
from otel_attrib.analytics.alerting.found import found_in
from otel_attrib.analytics.alerting.kinds import LATENCY_REGRESSION
from otel_attrib.analytics.alerting.making import Maker
from otel_attrib.analytics.alerting.restore import ended_row
from otel_attrib.analytics.alerting.watches import Watch
from otel_attrib.analytics.detection.incident import LASTING, OPEN, OVER, SMALL
from otel_attrib.analytics.detection.watcher import Judged
from otel_attrib.analytics.verdict import INSUFFICIENT, NO_REGRESSION
from otel_attrib.schema.reports import ReportRow

__all__ = ["FOUND_AGAIN_S", "Regressions"]

FOUND_AGAIN_S = 300.0
"""An incident from before a restart that is not seen again for so long is over."""

HELD_S = 20.0
"""How long an alarm waits for an answer before it is told without one."""

Keep = Callable[[ReportRow], None]


@dataclass(slots=True)
class Regressions:
    """One thread's: looks, and makes active alerts of what it finds."""

    watches: Sequence[Watch]
    maker: Maker
    active: ActiveAlerts
    keep: Keep
    earlier: dict[tuple[str, str, str], Alert] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    waits_since: float = 0.0

    def resume(self, alerts: Iterable[Alert]) -> None:
        """Take over what was firing before a restart: the same series is the same incident."""
        for alert in alerts:
            if alert.name == LATENCY_REGRESSION:
                self.earlier[_key(alert)] = alert
                self.active.put(alert)

    def step(self, now: float) -> None:
        """Look once; `now` is in seconds since 1970."""
        for watch in self.watches:
            for judged in watch.step(now):
                self._take(judged)
        self._give_up(now)

    def _take(self, judged: Judged) -> None:
        row = self._named(judged.row)
        known = self.active.get(row.incident)
        alert = self._alert(judged, row, known)
        if alert:
            self.active.put(alert)
        self.keep(replace(row, alert=alert.as_json() if alert else ""))

    def _named(self, row: ReportRow) -> ReportRow:
        """Return the row under the name that its incident had before a restart, if it had one."""
        before = self.earlier.pop((row.service, row.model, row.metric), None)
        if before:
            self.names[row.incident] = before.incident
        return replace(row, incident=self.names.get(row.incident, row.incident))

    def _alert(self, judged: Judged, row: ReportRow, known: Alert | None) -> Alert | None:
        """Return the alert as it is now.

        A rise too small to matter raises none, and ends one when that is sure; one of which nothing can be
        said yet is not told in its first seconds.
        """
        word, age = judged.report.verdict.word, row.time.timestamp() - judged.incident.alarm.time
        if known is None and (row.state != OPEN or (word == INSUFFICIENT and age < HELD_S)):
            return None
        if known and row.state == SMALL and word == NO_REGRESSION:
            return known.ended(row.time)
        over = row.state in (OVER, LASTING)
        alert = known
        if row.state == OPEN or (over and judged.report.verdict.word in SAID):
            starts = known.starts if known else row.onset
            found = found_in(judged.report)
            alert = self.maker.regression(row.incident, (row.service, row.model), row.metric, found, starts)
            alert = self.maker.beside(alert, self.active.related(alert))
        if over and alert:
            self.names.pop(judged.row.incident, None)
            return alert.ended(row.time)
        return alert

    def _give_up(self, now: float) -> None:
        """End what a restart interrupted and nobody has seen since."""
        if not self.earlier:
            return
        self.waits_since = self.waits_since or now
        if now - self.waits_since >= FOUND_AGAIN_S:
            for key, alert in list(self.earlier.items()):
                ended = alert.ended(datetime.fromtimestamp(now, UTC))
                self.keep(ended_row(ended))
                self.active.put(ended)
                del self.earlier[key]


def _key(alert: Alert) -> tuple[str, str, str]:
    return (*alert.group, alert.labels.get("metric", ""))
