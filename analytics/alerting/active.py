"""What is firing, and what ended a moment ago: the memory between two looks."""

import threading
from datetime import datetime

from otel_attrib.analytics.alerting.alert import Alert

__all__ = ["ActiveAlerts"]

SHARED = ("service", "model")


class ActiveAlerts:
    """Alerts by incident; safe to share between threads."""

    def __init__(self) -> None:
        """Nothing is firing."""
        self._lock = threading.Lock()
        self._firing: dict[str, Alert] = {}
        self._over: dict[str, Alert] = {}

    def put(self, alert: Alert) -> None:
        """Take an alert as it is now; the end of one that never fired is nothing."""
        with self._lock:
            if alert.firing:
                self._firing[alert.incident] = alert
            elif self._firing.pop(alert.incident, None):
                self._over[alert.incident] = alert

    def get(self, incident: str) -> Alert | None:
        """Return a firing alert."""
        with self._lock:
            return self._firing.get(incident)

    def firing(self) -> list[Alert]:
        """Return what is firing, the oldest first."""
        with self._lock:
            return sorted(self._firing.values(), key=lambda alert: (alert.starts, alert.incident))

    def ended_since(self, time: datetime) -> list[Alert]:
        """Return what ended after `time`, and forget what ended before."""
        with self._lock:
            self._over = {k: alert for k, alert in self._over.items() if alert.ends and alert.ends > time}
            return list(self._over.values())

    def related(self, alert: Alert) -> list[Alert]:
        """Return the other firing alerts that may tell of the same trouble: of the same service and model.

        An objective that names neither is about all of them.
        """
        return [
            other
            for other in self.firing()
            if other.incident != alert.incident
            and all(_agree(alert.labels.get(name), other.labels.get(name)) for name in SHARED)
        ]


def _agree(one: str | None, other: str | None) -> bool:
    return not one or not other or one == other
