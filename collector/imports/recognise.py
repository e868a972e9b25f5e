"""Tell traces, metrics and logs apart by what a message holds, for the three share their outer shape."""

from typing import Any

from google.protobuf.message import DecodeError

from otel_attrib.collector.signals import LOGS, METRICS, TRACES, Signal

__all__ = ["signal_of_json", "signal_of_protobuf"]

_KEYS = {"resourceSpans": TRACES, "resourceMetrics": METRICS, "resourceLogs": LOGS}


def signal_of_json(document: Any) -> Signal | None:
    """The signal of a parsed OTLP/JSON request; None when it is no such."""
    keys = _KEYS.keys() & document.keys() if isinstance(document, dict) else set()
    return _KEYS[keys.pop()] if len(keys) == 1 else None


def signal_of_protobuf(body: bytes) -> Signal | None:
    """The signal of a serialized request; None when it is none or holds nothing that would tell."""
    tests = ((TRACES, _is_traces), (METRICS, _is_metrics), (LOGS, _is_logs))
    return next((signal for signal, test in tests if _parsed_as(signal, body, test)), None)


def _parsed_as(signal: Signal, body: bytes, test: Any) -> bool:
    try:
        return bool(test(signal.decode(body)))
    except DecodeError:
        return False


def _is_traces(message: Any) -> bool:
    """Spans have ids of fixed length and times, which neither a metric nor a log record has there."""
    found = [span for part in message.resource_spans for scope in part.scope_spans for span in scope.spans]
    return any(
        len(span.trace_id) == 16 and len(span.span_id) == 8 and span.start_time_unix_nano for span in found
    )


def _is_metrics(message: Any) -> bool:
    found = [
        metric
        for part in message.resource_metrics
        for scope in part.scope_metrics
        for metric in scope.metrics
    ]
    return any(metric.WhichOneof("data") for metric in found) and all(metric.name for metric in found)


def _is_logs(message: Any) -> bool:
    found = [log for part in message.resource_logs for scope in part.scope_logs for log in scope.log_records]
    return any(log.time_unix_nano or log.observed_time_unix_nano for log in found)
