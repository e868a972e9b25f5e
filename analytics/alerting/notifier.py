"""From active alerts to notifications: once for each state of an alert, and not while it is silenced.

Webhooks are told of changes; those of one service and model in the same look are one body. Alertmanager
is given all that is firing each time, and groups and repeats as it is configured. What a silence covers
is told to nobody; when the silence ends before the alert does, the alert is told as new. The end of what
was told is always told.
"""

import threading
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from otel_attrib.analytics.alerting.active import ActiveAlerts
from otel_attrib.analytics.alerting.alert import ENDED, NEW, UPDATED, Alert, Change
from otel_attrib.analytics.alerting.meters import Meters
from otel_attrib.analytics.alerting.silences import Silence, silenced
from otel_attrib.analytics.alerting.targets import Targets

__all__ = ["Notifier"]

ENDED_TOLD = timedelta(minutes=5)


class Notifier:
    """Compares the active alerts with what was told last; safe to share between threads."""

    def __init__(self, active: ActiveAlerts, targets: Targets, meters: Meters) -> None:
        """Nobody was told of anything."""
        self._active = active
        self._targets = targets
        self._meters = meters
        self._lock = threading.Lock()
        self._told: dict[str, tuple[str, ...]] = {}
        self._held: set[tuple[str, tuple[str, ...]]] = set()

    def already(self, alerts: Iterable[Alert]) -> None:
        """Take these as told: they were before the service was started."""
        with self._lock:
            self._told |= {alert.incident: alert.state for alert in alerts}

    def step(self, silences: Sequence[Silence], at: datetime) -> None:
        """Tell what is new since the last step."""
        with self._lock:
            loud = [alert for alert in self._active.firing() if not self._is_held(alert, silences, at)]
            closed = [a for a in self._active.ended_since(at - ENDED_TOLD) if a.incident in self._told]
            changes = [change for alert in loud if (change := self._news(alert))]
            changes += [Change(ENDED, alert) for alert in closed]
            for alert in closed:
                del self._told[alert.incident]
            for group in _grouped(changes):
                self._targets.tell(group)
            self._targets.update([*loud, *closed])

    def _news(self, alert: Alert) -> Change | None:
        before = self._told.get(alert.incident)
        if before == alert.state:
            return None
        self._told[alert.incident] = alert.state
        return Change(NEW if before is None else UPDATED, alert)

    def _is_held(self, alert: Alert, silences: Sequence[Silence], at: datetime) -> bool:
        if not silenced(alert.labels, silences, at):
            return False
        if (alert.incident, alert.state) not in self._held:
            self._held.add((alert.incident, alert.state))
            self._meters.silenced.inc()
        return True


def _grouped(changes: Iterable[Change]) -> list[list[Change]]:
    """Return changes of the same service and model together, in the order in which they came."""
    groups: dict[tuple[str, str], list[Change]] = {}
    for change in changes:
        groups.setdefault(change.alert.group, []).append(change)
    return list(groups.values())
