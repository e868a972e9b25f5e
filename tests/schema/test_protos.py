"""The flat definitions read the same bytes as OpenTelemetry's own."""

import re
from pathlib import Path

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

SCHEMA = Path(__file__).parents[2] / "schema"
ROOTS = {
    "traces": ExportTraceServiceRequest.DESCRIPTOR,
    "metrics": ExportMetricsServiceRequest.DESCRIPTOR,
    "logs": ExportLogsServiceRequest.DESCRIPTOR,
}
MESSAGE = re.compile(r"message (\w+) \{|(\})|(repeated )?([\w.]+) (\w+) = (\d+);|(oneof) \w+ \{")
# An enum travels as a plain number, and a message may be left undecoded as the bytes that it is.
SAME_WIRE = {("int32", "enum"), ("bytes", "message")}
TYPES = {
    number: name.removeprefix("TYPE_").lower()
    for name, number in vars(FieldDescriptor).items()
    if name.startswith("TYPE_")
}

Fields = dict[str, dict[str, tuple[int, str, bool]]]


def flat_fields(signal: str) -> Fields:
    """Message → field → its number, type and whether it is repeated, as the flat file has them."""
    found: Fields = {}
    inside: list[str] = []
    for name, end, repeated, kind, field, number, oneof in MESSAGE.findall(
        re.sub(r"//.*", "", (SCHEMA / f"otlp_{signal}.proto").read_text("utf-8"))
    ):
        if name or oneof:
            inside.append(name)
        elif end:
            inside.pop()
        else:
            message = next(name for name in reversed(inside) if name)
            found.setdefault(message, {})[field] = (int(number), kind, bool(repeated))
    return found


def messages_below(root: Descriptor) -> dict[str, Descriptor]:
    """Every message that a request can hold, by its short name."""
    found: dict[str, Descriptor] = {}
    todo = [root]
    while todo:
        message = todo.pop()
        if message.name not in found:
            found[message.name] = message
            todo += [field.message_type for field in message.fields if field.message_type]
    return found


@pytest.mark.parametrize("signal", ROOTS)
def test_wire_compatible(signal: str) -> None:
    """Each field has the number, the wire type and the repetition of the official one of its name."""
    official = messages_below(ROOTS[signal])
    flat = flat_fields(signal)

    assert len(flat) >= 8
    for message, fields in flat.items():
        for name, (number, kind, repeated) in fields.items():
            theirs = official[message].fields_by_name[name]
            kind_of_theirs = TYPES[theirs.type]
            assert (message, name, theirs.number, theirs.is_repeated) == (message, name, number, repeated)
            if theirs.message_type and kind != "bytes":
                assert theirs.message_type.name == kind
            else:
                assert kind == kind_of_theirs or (kind, kind_of_theirs) in SAME_WIRE


@pytest.mark.parametrize("signal", ROOTS)
def test_self_contained(signal: str) -> None:
    """A definition is one file: a server is sent its text, and has no other to import from."""
    text = (SCHEMA / f"otlp_{signal}.proto").read_text("utf-8")

    assert "import" not in re.sub(r"//.*", "", text)
    assert ROOTS[signal].name in flat_fields(signal)
