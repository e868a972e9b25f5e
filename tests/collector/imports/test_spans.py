"""Requests as OTLP: the names of the registry, ids made from content."""

import io
import json
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_attrib.collector.imports.mapping import Mapping, units
from otel_attrib.collector.imports.spans import ImportedSpan, export_request, in_batches, spans
from otel_attrib.collector.imports.survey import Options, survey
from otel_attrib.collector.imports.table import Row, rows
from otel_attrib.schema.attributes import ATTRIBUTES

ROW = {
    "request_id": "r-1", "model": "tiny", "operation": "chat", "service": "chat", "node": "n1",
    "version": "v2", "tenant": "t", "finish_reason": "stop", "prompt_tokens": 10, "cached_tokens": 4,
    "output_tokens": 3,
    "sla_deadline_ms": 500, "arrival": 1_777_142_838.5, "queued": 1_777_142_838.51,
    "scheduled": 1_777_142_838.6, "first_token": 1_777_142_838.75, "last_token": 1_777_142_839.75,
}  # fmt: skip


def imported(*table: dict[str, Any]) -> list[ImportedSpan]:
    """The spans of a table."""
    stream = io.BytesIO("\n".join(map(json.dumps, table)).encode())
    plan = survey(stream, Mapping({}, units([]), {}), Options(), None).plan
    return list(spans(plan.request(row) for row in rows(stream) if isinstance(row, Row)))


def attributes(item: ImportedSpan) -> dict[str, Any]:
    """Attributes of a span as Python values."""
    return {
        pair.key: getattr(pair.value, str(pair.value.WhichOneof("value"))) for pair in item.span.attributes
    }


def test_a_whole_row() -> None:
    """Every cell is where the registry says, and the span lasts from arrival to last token."""
    (item,) = imported(ROW)
    found = attributes(item)

    assert "chat tiny" == item.span.name
    assert 1_250_000_000 == item.span.end_time_unix_nano - item.span.start_time_unix_nano
    assert {
        "gen_ai.response.id": "r-1",
        "gen_ai.request.model": "tiny",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.cache_read.input_tokens": 4,
        "gen_ai.usage.output_tokens": 3,
        "slatag.sla_deadline_ms": 500.0,
        "slatag.source": "import",
        "slatag.status": "ok",
        "slatag.first_byte_latency_us": 250_000.0,
        "slatag.stage.ingress_us": 10_000.0,
        "slatag.stage.queue_us": 90_000.0,
        "slatag.stage.prefill_us": 150_000.0,
        "slatag.stage.outside_us": 0.0,
        "slatag.tpot_us": 500_000.0,
        "slatag.e2e_us": 1_250_000.0,
        "gen_ai.response.time_to_first_chunk": 0.25,
    }.items() <= found.items()
    assert (("service.name", "chat"), ("service.version", "v2"), ("host.name", "n1")) == item.resource


def test_only_registered_names_are_written() -> None:
    """No attribute is invented beside the registry."""
    (item,) = imported(ROW)
    known = {entry.name for entry in ATTRIBUTES}

    assert set() == set(attributes(item)) - known
    assert set() == {key for key, _ in item.resource} - known


def test_absent_is_not_zero() -> None:
    """What a table does not say is no attribute."""
    (item,) = imported({"arrival": 1_777_142_838.5})

    assert {"slatag.source": "import", "slatag.status": "ok"} == attributes(item)


def test_ids_come_from_content() -> None:
    """The same row makes the same ids, another row others, and identical rows are told apart."""
    first, twin = imported(ROW, ROW)
    (again,) = imported(ROW)
    (other,) = imported(ROW | {"output_tokens": 4})
    ids = {(item.span.trace_id, item.span.span_id) for item in (first, twin, other)}

    assert (first.span.trace_id, first.span.span_id) == (again.span.trace_id, again.span.span_id)
    assert 3 == len(ids)


def test_a_callers_trace_is_kept() -> None:
    """A trace id of the table is the span's."""
    (item,) = imported(ROW | {"trace_id": "4bf92f3577b34da6a3ce929d0e0e4736"})

    assert "4bf92f3577b34da6a3ce929d0e0e4736" == item.span.trace_id.hex()


def test_batches_are_one_message_a_batch() -> None:
    """Spans of one resource stand together, and none is lost between batches."""
    found = imported(ROW, ROW | {"node": "n2"}, ROW | {"tenant": "u"})
    batches = list(in_batches(found, 2))
    messages = [ExportTraceServiceRequest.FromString(export_request(batch)) for batch in batches]

    assert [2, 1] == [len(batch) for batch in batches]
    assert [2, 1] == [len(message.resource_spans) for message in messages]
