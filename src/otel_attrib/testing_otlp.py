"""OTLP requests for tests: small, valid, and each different from every other."""

import itertools
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

__all__ = ["logs", "metrics", "trace_id", "traces"]

_numbers = itertools.count(1)
_NOON = 1_760_000_000_000_000_000


def trace_id(number: int) -> bytes:
    """The id of the span with this number."""
    return number.to_bytes(16, "big")


def traces(spans: int = 1, first: int | None = None, name: str = "work") -> ExportTraceServiceRequest:
    """A request with spans numbered from `first`, or from where the last one ended."""
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    _attribute(resource.resource, "service.name", "tests")
    scope = resource.scope_spans.add()
    for number in range(first, first + spans) if first else itertools.islice(_numbers, spans):
        scope.spans.add(
            trace_id=trace_id(number),
            span_id=number.to_bytes(8, "big"),
            name=name,
            kind=2,
            start_time_unix_nano=_NOON + number,
            end_time_unix_nano=_NOON + number + 1000,
        )
    return request


def metrics(points: int = 1) -> ExportMetricsServiceRequest:
    """A request with one gauge of so many points."""
    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name="load", unit="1")
    for number in itertools.islice(_numbers, points):
        metric.gauge.data_points.add(time_unix_nano=_NOON + number, as_double=float(number))
    return request


def logs(records: int = 1) -> ExportLogsServiceRequest:
    """A request with so many log records."""
    request = ExportLogsServiceRequest()
    scope = request.resource_logs.add().scope_logs.add()
    for number in itertools.islice(_numbers, records):
        scope.log_records.add(time_unix_nano=_NOON + number, severity_text="INFO").body.string_value = "said"
    return request


def _attribute(holder: Any, key: str, value: str) -> None:
    entry = holder.attributes.add(key=key)
    entry.value.string_value = value
