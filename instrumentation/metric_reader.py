"""Where the shim's metrics go: the exporter that the `OTEL_*` variables name, without a thread of its own."""

import math
import os

from opentelemetry.sdk.metrics.export import MetricExporter, MetricReader, PeriodicExportingMetricReader

from otel_attrib.instrumentation.shim import ENDPOINT

__all__ = ["metric_reader"]

TIMEOUT_S = 2
"""Longest export, unless the standard variables say another: the thread has other work."""


def metric_reader() -> MetricReader | None:
    """Make the reader that OTEL_METRICS_EXPORTER names (default otlp); None where it says none."""
    name = os.environ.get("OTEL_METRICS_EXPORTER", "otlp").strip()
    if name in ("", "none"):
        return None
    general = os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    protocol = os.environ.get("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", general).strip()
    exporter = _grpc() if protocol == "grpc" else _http()
    # Without a thread of its own: it collects on the background thread, which is within a budget.
    return PeriodicExportingMetricReader(exporter, export_interval_millis=math.inf)


def _grpc() -> MetricExporter:
    from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter

    return OTLPMetricExporter(endpoint=os.environ.get(ENDPOINT), timeout=_timeout())


def _http() -> MetricExporter:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

    base = os.environ.get(ENDPOINT)
    endpoint = f"{base.rstrip('/')}/v1/metrics" if base else None
    return OTLPMetricExporter(endpoint=endpoint, timeout=_timeout())


def _timeout() -> int | None:
    said = {"OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT"} & set(os.environ)
    return None if said else TIMEOUT_S
