"""Spans of real engines arrive with the values that a plain decoder finds in them."""

import itertools
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from otel_attrib.errors import StoreError
from otel_attrib.schema.ingest import insert_traces
from otel_attrib.schema.store import Store

Spans = Callable[..., bytes]
Rows = list[dict[str, Any]]

STORED = """
SELECT toUnixTimestamp64Nano(Timestamp) AS at, TraceId, SpanId, ParentSpanId, TraceState, SpanName, SpanKind,
    ServiceName, ResourceAttributes, ScopeName, ScopeVersion, SpanAttributes, Duration, StatusCode,
    StatusMessage, arrayMap(t -> toUnixTimestamp64Nano(t), Events.Timestamp) AS event_at,
    Events.Name, Events.Attributes, Links.TraceId, Links.SpanId, Links.TraceState, Links.Attributes
FROM otel_traces
ORDER BY TraceId, SpanId
"""
KINDS = ("Unspecified", "Internal", "Server", "Client", "Producer", "Consumer")
STATUSES = ("Unset", "Ok", "Error")


def decoded(bodies: tuple[bytes, ...]) -> Rows:
    """The rows that the bodies should become."""
    messages = map(ExportTraceServiceRequest.FromString, bodies)
    rows = [row for message in messages for row in rows_of(message)]
    return sorted(rows, key=lambda row: (row["TraceId"], row["SpanId"]))


def rows_of(message: ExportTraceServiceRequest) -> Iterator[dict[str, Any]]:
    """One row for each span of a request."""
    for part in message.resource_spans:
        resource = texts(part.resource.attributes)
        for group in part.scope_spans:
            for span in group.spans:
                yield {
                    "ServiceName": resource.get("service.name", ""),
                    "ResourceAttributes": resource,
                    "ScopeName": group.scope.name,
                    "ScopeVersion": group.scope.version,
                    **columns(span),
                }


def columns(span: Span) -> dict[str, Any]:
    """What one span's own columns should hold."""
    return {
        "at": span.start_time_unix_nano,
        "TraceId": span.trace_id.hex(),
        "SpanId": span.span_id.hex(),
        "ParentSpanId": span.parent_span_id.hex(),
        "TraceState": span.trace_state,
        "SpanName": span.name,
        "SpanKind": KINDS[span.kind],
        "SpanAttributes": texts(span.attributes),
        "Duration": span.end_time_unix_nano - span.start_time_unix_nano,
        "StatusCode": STATUSES[span.status.code],
        "StatusMessage": span.status.message,
        "event_at": [event.time_unix_nano for event in span.events],
        "Events.Name": [event.name for event in span.events],
        "Events.Attributes": [texts(event.attributes) for event in span.events],
        "Links.TraceId": [link.trace_id.hex() for link in span.links],
        "Links.SpanId": [link.span_id.hex() for link in span.links],
        "Links.TraceState": [link.trace_state for link in span.links],
        "Links.Attributes": [texts(link.attributes) for link in span.links],
    }


def texts(attributes: Any) -> dict[str, str]:
    """Attributes as text; the captures hold scalars only."""
    return {pair.key: text(pair) for pair in attributes}


def text(pair: KeyValue) -> str:
    """One scalar as text, a double in its shortest form without an exponent down to a millionth."""
    value = getattr(pair.value, pair.value.WhichOneof("value") or "string_value")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return (
            f"{Decimal(repr(value)):f}".removesuffix(".0") if abs(value) >= 1e-6 or not value else repr(value)
        )
    return str(value)


def test_captures(store: Store, captures: tuple[bytes, ...]) -> None:
    """Every column of every captured span holds what the protobuf library decodes."""
    expected = decoded(captures)

    insert_traces(store, captures, token="t")

    assert 500 < len(expected)
    assert expected == store.rows(STORED)


def test_trace_lookup(store: Store, captures: tuple[bytes, ...]) -> None:
    """Each trace has its first and its last second."""
    times: dict[str, list[int]] = {}
    for row in decoded(captures):
        times.setdefault(row["TraceId"], []).append(row["at"] // 1_000_000_000)

    insert_traces(store, captures, token="t")

    rows = store.rows(
        "SELECT TraceId, toUnixTimestamp(min(Start)) AS start, toUnixTimestamp(max(End)) AS stop "
        "FROM otel_traces_trace_id_ts GROUP BY TraceId"
    )
    assert {trace: (min(at), max(at)) for trace, at in times.items()} == {
        row["TraceId"]: (row["start"], row["stop"]) for row in rows
    }


def test_nothing_is_left_behind(
    store: Store, spans: Spans, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An insert leaves no file in the current directory, nor among the temporary ones."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    insert_traces(store, [spans({"a": 1})], token="t")

    assert [] == list(tmp_path.iterdir())


def test_nothing_to_insert(store: Store) -> None:
    """No requests, and empty ones, are no block."""
    insert_traces(store, [], token="t")
    insert_traces(store, [b""], token="t")

    assert [] == store.rows(STORED)


@pytest.mark.parametrize(
    ("kind", "status", "duration_ns", "expected"),
    [
        (3, 2, 5, ("Client", "Error", 5)),
        (99, 77, 5, ("", "", 5)),
        (-1, -1, 5, ("", "", 5)),
        (0, 0, -5, ("Unspecified", "Unset", 0)),
    ],
    ids=["known", "unknown", "negative", "ends before it starts"],
)
def test_odd_numbers(
    store: Store, spans: Spans, kind: int, status: int, duration_ns: int, expected: tuple[str, str, int]
) -> None:
    """Unknown kinds and states are empty text, and a duration never wraps around."""
    insert_traces(store, [spans({}, kind=kind, status=status, duration_ns=duration_ns)], token="t")

    assert [expected] == [(row["SpanKind"], row["StatusCode"], row["Duration"]) for row in store.rows(STORED)]


def test_broken_clocks_harm_nobody(store: Store, spans: Spans) -> None:
    """Spans of 150 different days, of 1970 and of the far future are one block."""
    day_ns = 86_400_000_000_000
    bodies = [
        spans(*[{}] * 150, step_ns=day_ns),
        spans({}, start_ns=0),
        spans({}, start_ns=2**64 - 1, duration_ns=-1),
    ]

    insert_traces(store, bodies, token="t")

    assert 152 == len(store.rows(STORED))


def test_malformed_refuses_its_block(store: Store, spans: Spans) -> None:
    """A request cut short leaves nothing of its block, and the store goes on."""
    good = spans({"a": 1})
    with pytest.raises(StoreError):
        insert_traces(store, [good, good[:-3]], token="t")

    assert [] == store.rows(STORED)
    insert_traces(store, [good], token="u")
    assert 1 == len(store.rows(STORED))


def test_order_of_requests_is_no_matter(store: Store, captures: tuple[bytes, ...]) -> None:
    """One block or many, the spans are the same."""
    for number, body in zip(itertools.count(), captures[:6], strict=False):
        insert_traces(store, [body], token=str(number))
    one_by_one = store.rows(STORED)
    store.command("TRUNCATE TABLE otel_traces")

    insert_traces(store, captures[:6], token="all")

    assert one_by_one == store.rows(STORED)
