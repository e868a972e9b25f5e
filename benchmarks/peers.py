"""The two usual ways into ClickHouse from Python: decode each span, then insert rows or an Arrow table."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from otel_attrib.schema.migrate import migrate
from otel_attrib.schema.store import Store, open_store

__all__ = ["PEERS", "ingest_as"]

PEERS = ("rows", "arrow")
_KINDS = ("Unspecified", "Internal", "Server", "Client", "Producer", "Consumer")
_CODES = ("Unset", "Ok", "Error")
_STRING_MAP = pa.map_(pa.string(), pa.string())
_TYPES: dict[str, Any] = {
    "Timestamp": pa.timestamp("ns", "UTC"),
    "TraceId": pa.string(),
    "SpanId": pa.string(),
    "ParentSpanId": pa.string(),
    "TraceState": pa.string(),
    "SpanName": pa.string(),
    "SpanKind": pa.string(),
    "ServiceName": pa.string(),
    "ResourceAttributes": _STRING_MAP,
    "ScopeName": pa.string(),
    "ScopeVersion": pa.string(),
    "SpanAttributes": _STRING_MAP,
    "Duration": pa.uint64(),
    "StatusCode": pa.string(),
    "StatusMessage": pa.string(),
    "Events.Timestamp": pa.list_(pa.timestamp("ns", "UTC")),
    "Events.Name": pa.list_(pa.string()),
    "Events.Attributes": pa.list_(_STRING_MAP),
    "Links.TraceId": pa.list_(pa.string()),
    "Links.SpanId": pa.list_(pa.string()),
    "Links.TraceState": pa.list_(pa.string()),
    "Links.Attributes": pa.list_(_STRING_MAP),
}


class _Peer:
    def __init__(self, name: str, store: Store) -> None:
        self.store = store
        self._insert = self._rows if name == "rows" else self._arrow

    def __call__(self, bodies: list[bytes]) -> None:
        self._insert([row for body in bodies for row in _decoded(body)])

    def until_merged(self) -> None:
        quiet = 0
        while quiet < 5:
            busy = self.store.rows("SELECT count() AS n FROM system.merges")[0]["n"]
            quiet = 0 if busy else quiet + 1
            time.sleep(0.2)

    def _rows(self, rows: list[tuple[Any, ...]]) -> None:
        with self.store._client() as client:  # the peer inserts as a user of clickhouse-connect would
            timed = [(datetime.fromtimestamp(row[0] / 1e9, UTC), *row[1:]) for row in rows]
            client.insert("otel_traces", timed, column_names=list(_TYPES), settings={"async_insert": 0})

    def _arrow(self, rows: list[tuple[Any, ...]]) -> None:
        columns = list(zip(*rows, strict=True))
        arrays = [
            pa.array([list(cell.items()) for cell in column] if kind == _STRING_MAP else column, kind)
            for column, kind in zip(columns, _TYPES.values(), strict=True)
        ]
        self.store.insert_arrow("otel_traces", pa.Table.from_arrays(arrays, names=list(_TYPES)))


@contextmanager
def ingest_as(name: str, dsn: str) -> Iterator[_Peer]:
    """A peer over a fresh store with this project's tables and views."""
    with open_store(dsn) as store:
        migrate(store)
        yield _Peer(name, store)


def _decoded(body: bytes) -> Iterator[tuple[Any, ...]]:
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        attributes = _map(resource.resource.attributes)
        service = attributes.get("service.name", "")
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield _row(span, service, attributes, scope.scope.name, scope.scope.version)


def _row(span: Span, service: str, resource: dict[str, str], scope: str, version: str) -> tuple[Any, ...]:
    return (
        span.start_time_unix_nano,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.trace_state,
        span.name,
        _KINDS[span.kind],
        service,
        resource,
        scope,
        version,
        _map(span.attributes),
        span.end_time_unix_nano - span.start_time_unix_nano,
        _CODES[span.status.code],
        span.status.message,
        [event.time_unix_nano for event in span.events],
        [event.name for event in span.events],
        [_map(event.attributes) for event in span.events],
        [link.trace_id.hex() for link in span.links],
        [link.span_id.hex() for link in span.links],
        [link.trace_state for link in span.links],
        [_map(link.attributes) for link in span.links],
    )


def _map(pairs: Iterable[KeyValue]) -> dict[str, str]:
    return {pair.key: _text(pair.value) for pair in pairs}


def _text(value: AnyValue) -> str:
    kind = value.WhichOneof("value")
    if kind == "bool_value":
        return "true" if value.bool_value else "false"
    return str(getattr(value, kind)) if kind else ""
