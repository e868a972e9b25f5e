"""Files of exported OTLP are read whatever they are written in, and told apart by content."""

import gzip
import io
import json
from collections import Counter
from pathlib import Path

import pytest

from otel_attrib.collector.imports.files import opened
from otel_attrib.collector.imports.otlp_file import BadPart, Part, parts
from otel_attrib.collector.imports.otlp_import import OtlpTally, deliver_file
from otel_attrib.collector.signals import LOGS, METRICS, TRACES
from otel_attrib.errors import DataError

FIXTURES = Path(__file__).parents[2] / "fixtures"
EXAMPLES = FIXTURES / "otlp_examples"
CAPTURES = FIXTURES / "engine_captures"


def tally(*files: Path | bytes) -> OtlpTally:
    """What the files hold, nothing delivered."""
    found = OtlpTally()
    for file in files:
        data = file if isinstance(file, bytes) else file.read_bytes()
        deliver_file("file", io.BytesIO(data), None, found)
    return found


@pytest.mark.parametrize(
    ("name", "signal", "items"),
    [
        ("trace.json", TRACES, 1),
        ("metrics.json", METRICS, 4),
        ("logs.json", LOGS, 1),
        ("events.json", LOGS, 1),
    ],
)
def test_examples_of_the_protocol(name: str, signal: object, items: int) -> None:
    """The protocol's own JSON examples are read, each as its signal, pretty-printed as they are."""
    (part,) = parts(io.BytesIO((EXAMPLES / name).read_bytes()))

    assert isinstance(part, Part)
    assert part.signal is signal
    assert items == sum(tally(EXAMPLES / name).items.values())


@pytest.mark.parametrize(
    ("name", "spans"),
    [
        ("vllm_otlp_grpc_traces_004.pb", 31),
        ("sglang_otlp_001.pb", 4),
        ("litellm_otlp_001.pb", 14),
        ("triton_otlp_001.json", 3),
    ],
)
def test_what_engines_sent(name: str, spans: int) -> None:
    """Bodies as engines sent them are read whole."""
    found = tally(CAPTURES / name)

    assert ({"traces": spans}, 0) == (dict(found.items), found.bad)


def compact(name: str) -> str:
    """One of the examples on one line."""
    return json.dumps(json.loads((EXAMPLES / name).read_text()))


def test_json_lines_of_all_signals() -> None:
    """One request a line, as the Collector's file exporter writes them, signals mixed."""
    text = "\n".join(compact(name) for name in ("trace.json", "metrics.json", "logs.json", "trace.json"))

    assert {"traces": 2, "metrics": 4, "logs": 1} == dict(tally(text.encode()).items)


def test_json_array_and_pretty_printed_sequence() -> None:
    """An array of requests, and objects one after another, are read as well."""
    array = f"[{compact('trace.json')}, {compact('logs.json')}]"
    sequence = (EXAMPLES / "trace.json").read_text() * 2

    assert Counter(traces=1, logs=1) == tally(array.encode()).items
    assert Counter(traces=2) == tally(sequence.encode()).items


def test_bad_lines_lose_only_themselves() -> None:
    """A torn line and an object of another kind are told with their lines; the rest is read."""
    text = "\n".join([compact("trace.json"), '{"resourceSpans": [', '{"hello": 1}', compact("logs.json")])
    found = list(parts(io.BytesIO(text.encode())))

    assert [Part, BadPart, BadPart, Part] == [type(part) for part in found]
    assert ["line 2", "line 3"] == [part.place for part in found if isinstance(part, BadPart)]


def test_wrong_field_is_named() -> None:
    """A request whose fields are of a wrong type is told with the field."""
    found = tally(b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"startTimeUnixNano": "x"}]}]}]}')

    assert 1 == found.bad
    assert "startTimeUnixNano" in found.named[0][1].reason


def test_bad_items_are_refused_and_counted() -> None:
    """A span with an impossible id is left out; the others of its request stay."""
    document = json.loads((EXAMPLES / "trace.json").read_text())
    scope = document["resourceSpans"][0]["scopeSpans"][0]
    scope["spans"].append(scope["spans"][0] | {"spanId": "12"})
    found = tally(json.dumps(document).encode())

    assert (1, 1) == (found.items["traces"], found.refused)
    assert ["1 with a span_id that is not 8 bytes, or all zero"] == list(found.reasons)


@pytest.mark.parametrize("data", [b"", b"\n", b"hello", b"\x00\x01", b"[1]", b'"x"'])
def test_other_files(data: bytes) -> None:
    """A file that holds no OTLP says so, with its place."""
    found = tally(data)

    assert (0, 1) == (found.requests, found.bad)


def test_gzip_is_told_by_content(tmp_path: Path) -> None:
    """A gzipped file is unpacked whatever it is called; a broken one is told."""
    packed = gzip.compress((EXAMPLES / "trace.json").read_bytes())
    good, broken = tmp_path / "a.json", tmp_path / "b.json"
    good.write_bytes(packed)
    broken.write_bytes(packed[:-9])

    with opened(str(good)) as stream:
        assert 1 == len(list(parts(stream)))
    with pytest.raises(DataError, match="broken gzip"), opened(str(broken)) as stream:
        list(parts(stream))
    with pytest.raises(DataError, match="No such file"), opened(str(tmp_path / "c")) as stream:
        list(parts(stream))


def test_large_requests_are_cut_between_resources() -> None:
    """What is sent at once stays small, and nothing is lost by it."""
    body = (CAPTURES / "vllm_otlp_grpc_traces_004.pb").read_bytes()

    assert 31 * 300 == tally(body * 300).items["traces"]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (100_000 * "[", "nested too deeply"),
        (200_000 * '{"a":', "nested too deeply"),
        ('{"resourceSpans":' + 9000 * "9" + "}", "a number of thousands of digits"),
    ],
)
@pytest.mark.parametrize("end", ["", "\n"])
def test_json_that_no_parser_takes(wrong: str, reason: str, end: str) -> None:
    """Endless nesting and endless numbers are one bad part, in words of ours."""
    (part,) = parts(io.BytesIO((wrong + end).encode()))

    assert BadPart("line 1", f"no JSON: {reason}") == part


@pytest.mark.parametrize("depth", range(900, 1001, 10))
def test_an_array_as_deep_as_can_be_read(depth: int) -> None:
    """What can just be read and not be written again is a bad part or none, never a fault."""
    found = list(parts(io.BytesIO(f'[{{"resourceSpans": {"[" * depth}{"]" * depth}}}]'.encode())))

    assert 1 == len(found)
