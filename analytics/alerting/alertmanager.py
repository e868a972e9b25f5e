"""Alerts to Prometheus' Alertmanager, API v2: what is firing now, told again before it would be forgotten.

Alertmanager takes an alert for over when it has not heard of it until its `endsAt`. That is set
`KEPT_TIMES` rounds ahead, so one or two lost rounds end nothing, and a service that dies leaves no alert
behind for long. What has ended is told for some minutes more, so that it arrives even if Alertmanager was
away. Nothing queues: each round sends the state as it is by then.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from otel_attrib.analytics.alerting.alert import Alert
from otel_attrib.analytics.alerting.meters import Meters
from otel_attrib.analytics.alerting.posting import Address, Answer, as_body
from otel_attrib.analytics.alerting.sender import Sender
from otel_attrib.analytics.windows import rfc3339

__all__ = ["Alertmanager", "postable"]

ROUND_S = 60.0
KEPT_TIMES = 4
ENDED_KEPT_S = 300.0
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 30.0
PATH = "/api/v2/alerts"


class Alertmanager(Sender):
    """One Alertmanager; `update` never waits, a thread of its own sends."""

    def __init__(
        self,
        address: Address,
        meters: Meters,
        round_s: float = ROUND_S,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Prepare to tell `address` every `round_s` seconds."""
        super().__init__("alertmanager", address, meters)
        self._round_s = round_s
        self._now = now
        self._alerts: dict[str, Alert] = {}
        self._new = False

    def update(self, alerts: Sequence[Alert]) -> None:
        """Take the alerts that are firing now, and the ends of those that were."""
        with self._changed:
            fresh = {alert.incident: alert for alert in alerts}
            for incident, alert in self._alerts.items():
                if incident not in fresh and alert.ends and self._age_s(alert) < ENDED_KEPT_S:
                    fresh[incident] = alert
            self._new |= fresh != self._alerts
            self._alerts = fresh
            self._changed.notify()

    def send(self, alerts: Sequence[Alert]) -> Answer:
        """Post these alerts at once and return what was answered."""
        now = self._now()
        until = now + timedelta(seconds=KEPT_TIMES * self._round_s)
        body = [postable(alert, until) for alert in alerts]
        return self._address.post(self._address.below(PATH), as_body(body))

    def _age_s(self, alert: Alert) -> float:
        return (self._now() - alert.ends).total_seconds() if alert.ends else 0.0

    def _run(self) -> None:
        wait_s, pause_s = self._round_s, FIRST_WAIT_S
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._new or self._ending, wait_s)
                new, self._new, ending = self._new, False, self._ending
                alerts = list(self._alerts.values())
            if ending and not new:
                return
            if not alerts or self._round(alerts):
                wait_s, pause_s = self._round_s, FIRST_WAIT_S
            else:
                wait_s, pause_s = pause_s, min(2 * pause_s, LONGEST_WAIT_S)
            if ending:
                return

    def _round(self, alerts: Sequence[Alert]) -> bool:
        answer = self.send(alerts)
        self._meters.sent.labels(self.name, "taken" if answer.taken else "failed").inc()
        self._meters.waiting.labels(self.name).set(0 if answer.taken else len(alerts))
        return answer.taken


def postable(alert: Alert, until: datetime) -> dict[str, Any]:
    """Return one element of the body of POST /api/v2/alerts."""
    body: dict[str, Any] = {
        "labels": dict(alert.labels),
        "annotations": dict(alert.annotations),
        "startsAt": rfc3339(alert.starts),
        "endsAt": rfc3339(alert.ends or until),
    }
    link = alert.annotations.get("report_url", "")
    return {**body, "generatorURL": link} if link else body
