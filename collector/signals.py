"""The three OTLP signals: their paths, messages and words, once."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces

__all__ = ["LOGS", "METRICS", "SIGNALS", "TRACES", "Signal"]


@dataclass(frozen=True, slots=True)
class Signal:
    """One signal; `rejected` is the field of its partial success."""

    name: str
    service: str
    rejected: str
    request: type[Message]
    response: Callable[[], Any]
    decode: Callable[[bytes], Any]

    @property
    def path(self) -> str:
        """Where it is posted over HTTP."""
        return f"/v1/{self.name}"

    @property
    def method(self) -> str:
        """What it is called over gRPC."""
        return f"/opentelemetry.proto.collector.{self.service}/Export"


TRACES = Signal(
    "traces",
    "trace.v1.TraceService",
    "rejected_spans",
    traces.ExportTraceServiceRequest,
    traces.ExportTraceServiceResponse,
    traces.ExportTraceServiceRequest.FromString,
)
METRICS = Signal(
    "metrics",
    "metrics.v1.MetricsService",
    "rejected_data_points",
    metrics.ExportMetricsServiceRequest,
    metrics.ExportMetricsServiceResponse,
    metrics.ExportMetricsServiceRequest.FromString,
)
LOGS = Signal(
    "logs",
    "logs.v1.LogsService",
    "rejected_log_records",
    logs.ExportLogsServiceRequest,
    logs.ExportLogsServiceResponse,
    logs.ExportLogsServiceRequest.FromString,
)
SIGNALS: Iterable[Signal] = (TRACES, METRICS, LOGS)
