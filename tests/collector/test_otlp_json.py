"""OTLP's JSON against Protobuf's own reading of the same messages."""

import json
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality

from otel_attrib import testing_otlp as bodies
from otel_attrib.collector.otlp_json import parse
from otel_attrib.errors import DataError


def _array(items: list[AnyValue]) -> AnyValue:
    value = AnyValue()
    value.array_value.values.extend(items)
    return value


VALUES = st.recursive(
    st.one_of(
        st.text().map(lambda text: AnyValue(string_value=text)),
        st.booleans().map(lambda flag: AnyValue(bool_value=flag)),
        st.integers(-(2**63), 2**63 - 1).map(lambda number: AnyValue(int_value=number)),
        st.floats(allow_nan=False).map(lambda number: AnyValue(double_value=number)),
        st.binary().map(lambda data: AnyValue(bytes_value=data)),
    ),
    lambda inner: st.lists(inner, max_size=3).map(_array),
    max_leaves=8,
)


@given(VALUES)
def test_values_as_protobuf_writes_them(value: AnyValue) -> None:
    """Whatever Protobuf's own JSON writes for a value is read back as the same value."""
    document = json.dumps(MessageToDict(value))

    assert value == parse(AnyValue, document.encode())


def test_metrics_as_protobuf_writes_them() -> None:
    """64-bit integers as strings, enums as numbers, every kind of metric."""
    request = bodies.metrics(2)
    scope = request.resource_metrics[0].scope_metrics[0]
    total = scope.metrics.add(name="total")
    total.sum.is_monotonic = True
    total.sum.aggregation_temporality = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
    total.sum.data_points.add(time_unix_nano=2**63 - 1, as_int=-5, flags=1)
    histogram = scope.metrics.add(name="seconds").histogram.data_points.add(count=2**40, sum=1.5)
    histogram.bucket_counts.extend([1, 2**40])
    histogram.explicit_bounds.append(0.5)
    document = MessageToDict(request, use_integers_for_enums=True)

    assert request == parse(ExportMetricsServiceRequest, json.dumps(document).encode())


def span(**fields: Any) -> Any:
    """One span's JSON, read."""
    document = {"resourceSpans": [{"scopeSpans": [{"spans": [fields]}]}]}
    request: Any = parse(ExportTraceServiceRequest, json.dumps(document).encode())
    return request.resource_spans[0].scope_spans[0].spans[0]


def test_ids_are_hex() -> None:
    """Upper or lower case; bytes of attributes stay base64."""
    read = span(
        traceId="5B8EFFF798038103D269B633813FC60C",
        spanId="eee19b7ec3c1b174",
        links=[{"traceId": "00" * 16, "spanId": "ff" * 8}],
        attributes=[{"key": "raw", "value": {"bytesValue": "AQID"}}],
    )

    assert bytes.fromhex("5b8efff798038103d269b633813fc60c") == read.trace_id
    assert bytes.fromhex("eee19b7ec3c1b174") == read.span_id
    assert b"\xff" * 8 == read.links[0].span_id
    assert b"\x01\x02\x03" == read.attributes[0].value.bytes_value


def test_ids_that_are_not_hex() -> None:
    """They are read as an id of a length that none has, so that only their item is refused."""
    read = span(traceId="zz", spanId="0", name="kept")

    assert (1, 1, "kept") == (len(read.trace_id), len(read.span_id), read.name)


@pytest.mark.parametrize("number", [1544712660300000000, "1544712660300000000"], ids=["number", "string"])
def test_integers(number: object) -> None:
    """A 64-bit integer may be a number or a string."""
    assert 1544712660300000000 == span(startTimeUnixNano=number).start_time_unix_nano


def test_unknown_null_and_snake_case_are_ignored() -> None:
    """Only lowerCamelCase names are names."""
    read = span(name="kept", start_time_unix_nano="5", novelty={"deep": [1, {}]}, traceState=None)

    assert ("kept", 0, "") == (read.name, read.start_time_unix_nano, read.trace_state)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"links": [{"traceId": "xyz"}]}, "Link.traceId"),
        ({"traceId": 5}, "Span.traceId"),
        ({"kind": "SPAN_KIND_SERVER"}, "Span.kind"),
        ({"kind": True}, "Span.kind"),
        ({"startTimeUnixNano": "1e9"}, "Span.startTimeUnixNano"),
        ({"startTimeUnixNano": 1.5}, "Span.startTimeUnixNano"),
        ({"startTimeUnixNano": -1}, "out of range"),
        ({"name": 5}, "Span.name"),
        ({"attributes": {"key": "a"}}, "Span.attributes"),
        ({"status": []}, "Status"),
        ({"name": "\ud800"}, "surrogates not allowed"),
    ],
)
def test_wrong_values(fields: dict[str, object], named: str) -> None:
    """The message names the field."""
    with pytest.raises(DataError, match=named):
        span(**fields)
