"""What happened to every request, counted: one registry, shown at `/metrics` and in `/api/v1/status`.

Requests are counted where they arrive, items (spans, data points, log records) where they are kept.
In a quiet moment, per signal: accepted items = written + quarantined + spooled items, and
received requests = accepted + duplicate + refused ones.
"""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import Metric

__all__ = ["Counters"]

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Counters:
    """One service's counters; safe to share between threads."""

    def __init__(self) -> None:
        """Start every count at 0 in a registry of its own."""
        self.registry = CollectorRegistry()
        self._labels: dict[str, tuple[str, ...]] = {}
        self.received = self._count("received_requests", "requests that arrived", "signal", "transport")
        self.received_bytes = self._count("received_bytes", "bytes of requests, decompressed", "signal")
        self.accepted_requests = self._count("accepted_requests", "requests kept and acknowledged", "signal")
        self.accepted = self._count("accepted_items", "items of acknowledged requests", "signal")
        self.refused = self._count("refused_requests", "requests refused whole", "signal", "reason")
        self.rejected = self._count("rejected_items", "single bad items of accepted requests", "signal")
        self.duplicates = self._count("duplicate_requests", "repeated requests, not stored again", "signal")
        self.written = self._count("written_items", "items inserted into the store", "signal")
        self.blocks = self._count("written_blocks", "inserts that succeeded", "signal")
        self.replayed = self._count("replayed_items", "items found in the spool at start", "signal")
        self.quarantined = self._count("quarantined_items", "items that the store refuses", "signal")
        self.lost = self._count("lost_requests", "requests set aside that could not be kept", "signal")
        self.failures = self._count("write_failures", "inserts that failed, tried again", "signal")
        self.cut_bytes = self._count("spool_cut_bytes", "bytes of torn tails cut at start")
        self.spool_items = self._gauge("spool_items", "items not yet in the store", "signal")
        self.spool_bytes = self._gauge("spool_bytes", "bytes of the spool's segments on disk")
        self.spool_limit = self._gauge("spool_limit_bytes", "bytes the spool may hold")
        self.in_flight = self._gauge("in_flight_bytes", "bytes of requests not yet answered")
        self.sync_seconds = self._time("spool_sync_seconds", "time of one group commit")
        self.write_seconds = self._time("write_seconds", "time of one insert")
        self.queries = self._count("queries", "statements of the ClickHouse port", "outcome")

    def text(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self.registry)

    def totals(self) -> dict[str, float]:
        """Every count and gauge that is not 0, by name and labels: `accepted_items{signal="traces"}`."""
        return {name: value for name, value in self._samples() if value}

    def labels(self, name: str) -> tuple[str, ...]:
        """The label names of one metric, given with its prefix."""
        return self._labels.get(name, ())

    def _samples(self) -> Iterator[tuple[str, float]]:
        metric: Metric
        for metric in self.registry.collect():
            for sample in metric.samples:
                if sample.name.endswith(("_created", "_bucket")):
                    continue
                labels = ",".join(f'{key}="{value}"' for key, value in sorted(sample.labels.items()))
                name = sample.name.removeprefix("otel_attrib_")
                yield (f"{name}{{{labels}}}" if labels else name), sample.value

    def _count(self, name: str, meaning: str, *labels: str) -> Counter:
        self._labels[f"otel_attrib_{name}"] = labels
        return Counter(f"otel_attrib_{name}", meaning, labels, registry=self.registry)

    def _gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        self._labels[f"otel_attrib_{name}"] = labels
        return Gauge(f"otel_attrib_{name}", meaning, labels, registry=self.registry)

    def _time(self, name: str, meaning: str) -> Histogram:
        return Histogram(f"otel_attrib_{name}", meaning, registry=self.registry, buckets=_SECONDS)
