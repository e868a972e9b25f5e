"""What alerting counts of itself, shown at /metrics."""

from prometheus_client import CollectorRegistry, Counter, Gauge

__all__ = ["Meters"]


class Meters:
    """One evaluator's counters; safe to share between threads."""

    def __init__(self) -> None:
        """Start every count at 0 in a registry of its own."""
        self.registry = CollectorRegistry()
        self.sent = self._count(
            "notifications",
            "notifications by what became of them: taken, failed (tried again), refused or dropped (lost)",
            "target",
            "outcome",
        )
        self.waiting = self._gauge("notifications_waiting", "notifications not yet taken", "target")
        self.looks = self._count("looks", "looks at the store, by outcome: ok or failed", "outcome")
        self.looked = self._gauge("last_look_timestamp_seconds", "when the last look that worked ended")
        self.look_seconds = self._gauge("look_seconds", "what the last look took")
        self.silenced = self._count("silenced", "changes that a silence kept from being told")

    def _count(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(f"otel_attrib_alert_{name}", meaning, labels, registry=self.registry)

    def _gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        return Gauge(f"otel_attrib_alert_{name}", meaning, labels, registry=self.registry)
