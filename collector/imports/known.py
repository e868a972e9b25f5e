"""Spans that the store holds already, left out so that a file imported twice adds nothing."""

from collections.abc import Iterable

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, Span

from otel_attrib.schema.store import Store

__all__ = ["without_known"]

_KNOWN = """
SELECT TraceId AS trace, SpanId AS span
FROM otel_traces
WHERE TraceId IN {traces:Array(String)}
  AND Timestamp BETWEEN fromUnixTimestamp64Nano({low:Int64}) AND fromUnixTimestamp64Nano({high:Int64})
"""


def without_known(store: Store, message: ExportTraceServiceRequest) -> int:
    """Take spans out of `message` that the store holds, and those that stand in it twice; return how many."""
    scopes = [scope for part in message.resource_spans for scope in part.scope_spans]
    seen = _held(store, [span for scope in scopes for span in scope.spans])
    taken = 0
    for scope in scopes:
        fresh = []
        for span in scope.spans:
            if (name := (span.trace_id, span.span_id)) not in seen:
                fresh.append(span)
                seen.add(name)
        if len(fresh) < len(scope.spans):
            taken += len(scope.spans) - len(fresh)
            _replace(scope, fresh)
    return taken


def _replace(scope: ScopeSpans, fresh: list[Span]) -> None:
    kept = [Span.FromString(span.SerializeToString()) for span in fresh]
    del scope.spans[:]
    scope.spans.extend(kept)


def _held(store: Store, spans: Iterable[Span]) -> set[tuple[bytes, bytes]]:
    times = [span.start_time_unix_nano for span in spans]
    if not times:
        return set()
    found = store.rows(
        _KNOWN,
        {
            "traces": sorted({span.trace_id.hex() for span in spans}),
            "low": min(min(times), 2**63 - 1),
            "high": min(max(times), 2**63 - 1),
        },
    )
    return {(bytes.fromhex(row["trace"]), bytes.fromhex(row["span"])) for row in found}
