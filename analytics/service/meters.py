"""What the API counts of itself, beside the receiver's counters: shown at /metrics."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

__all__ = ["Meters"]

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Meters:
    """One application's counters; safe to share between threads."""

    def __init__(self) -> None:
        """Start every count at 0 in a registry of its own."""
        self.registry = CollectorRegistry()
        own = self.registry
        self.requests = Counter(
            "otel_attrib_api_requests",
            "requests answered",
            ("route", "method", "status"),
            registry=own,
        )
        self.seconds = Histogram(
            "otel_attrib_api_seconds", "time of one answer", ("route",), registry=own, buckets=_SECONDS
        )
        self.running = Gauge("otel_attrib_api_questions_running", "questions being answered", registry=own)
        self.waiting = Gauge("otel_attrib_api_questions_waiting", "questions in line", registry=own)
        self.refused = Counter(
            "otel_attrib_api_questions_refused", "questions told to come again", registry=own
        )
        self.left = Counter(
            "otel_attrib_api_questions_left", "questions that nobody waited for", registry=own
        )
        self.shared = Counter(
            "otel_attrib_api_questions_shared",
            "questions answered with another's answer: on its way (joined) or just given (kept)",
            ("how",),
            registry=own,
        )
        self.listeners = Gauge("otel_attrib_api_listeners", "listeners of /api/v1/live", registry=own)
