"""A database of its own for each test, and OTLP made from plain values."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from otel_attrib.schema.migrate import migrate
from otel_attrib.schema.store import Store, open_store

NUMBERS = itertools.count()
NOON_NS = 1_767_268_800_000_000_000  # 2026-01-01T12:00:00Z
Spans = Callable[..., bytes]
FILLED = """
SELECT name FROM system.tables
WHERE database = currentDatabase() AND total_rows > 0 AND name != {journal:String}
"""


@pytest.fixture(scope="module")
def engine() -> Iterator[Store]:
    """The engine in memory; one process can have one path open, so it is given back after each module."""
    with open_store("chdb://memory") as opened:
        yield opened


@pytest.fixture
def empty_store(engine: Store) -> Iterator[Store]:
    """A database that no other test sees, without a table."""
    with open_store(f"chdb://memory/schema_{next(NUMBERS)}") as opened:
        yield opened
    engine.command(f"DROP DATABASE {opened.database}")


@pytest.fixture(scope="module")
def tables(engine: Store) -> Store:
    """A database with all tables, for tests that only read; see `store`."""
    migrate(engine)
    return engine


@pytest.fixture
def store(tables: Store) -> Iterator[Store]:
    """The module's database with all tables, and after each test nothing in them."""
    yield tables
    for row in tables.rows(FILLED, {"journal": "schema_migrations"}):
        tables.command(f"TRUNCATE TABLE {row['name']}")


@pytest.fixture(scope="session")
def captures() -> tuple[bytes, ...]:
    """What vLLM, SGLang and LiteLLM sent, one export request each."""
    files = sorted((Path(__file__).parents[1] / "fixtures/engine_captures").glob("*.pb"))
    return tuple(file.read_bytes() for file in files)


@pytest.fixture
def spans() -> Spans:
    """Make one export request; see `make_spans`."""
    return make_spans


def make_spans(
    *attributes: Mapping[str, Any],
    scope: str = "otel_attrib.request",
    name: str = "chat tiny",
    kind: int = Span.SPAN_KIND_SERVER,
    resource: Mapping[str, Any] | None = None,
    start_ns: int = NOON_NS,
    step_ns: int = 1_000_000,
    duration_ns: int = 2_000_000,
    status: int = 0,
    trace_state: str = "",
) -> bytes:
    """One serialized request with a span for each of `attributes`, `step_ns` apart."""
    message = ExportTraceServiceRequest()
    part = message.resource_spans.add()
    part.resource.attributes.extend(pairs(resource or {"service.name": "svc", "host.name": "n0"}))
    group = part.scope_spans.add()
    group.scope.name = scope
    group.scope.version = "1"
    for number, values in enumerate(attributes):
        at = start_ns + number * step_ns
        span = group.spans.add(
            trace_id=(number + 1).to_bytes(16, "big"),
            span_id=(number + 1).to_bytes(8, "big"),
            name=name,
            kind=Span.SpanKind.ValueType(kind),
            start_time_unix_nano=at,
            end_time_unix_nano=max(at + duration_ns, 0),
            trace_state=trace_state,
            attributes=pairs(values),
        )
        span.status.code = Status.StatusCode.ValueType(status)
    return message.SerializeToString()


def pairs(values: Mapping[str, Any]) -> list[KeyValue]:
    """Attributes of plain values."""
    return [KeyValue(key=key, value=any_value(value)) for key, value in values.items()]


def any_value(value: Any) -> AnyValue:
    """A plain value as the protocol has it; lists and dicts as arrays and maps."""
    made = AnyValue()
    match value:
        case None:
            pass
        case bool():
            made.bool_value = value
        case int():
            made.int_value = value
        case float():
            made.double_value = value
        case bytes():
            made.bytes_value = value
        case str():
            made.string_value = value
        case Sequence():
            made.array_value.values.extend(map(any_value, value))
        case Mapping():
            made.kvlist_value.values.extend(pairs(value))
    return made
