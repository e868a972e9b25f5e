"""A file of exported OTLP as requests: protobuf or JSON, alone or many, each told apart by its content.

JSON may be one object, an array of them, one a line (as the Collector's file exporter writes), or
several one after another. What cannot be read is yielded as `BadPart` with its place; what follows
it is still read.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, BinaryIO

from otel_attrib.collector.imports.framing import Torn, frames
from otel_attrib.collector.imports.recognise import signal_of_json, signal_of_protobuf
from otel_attrib.collector.json_fault import FAULTS, json_fault
from otel_attrib.collector.signals import Signal

__all__ = ["BadPart", "Part", "parts"]

_DECODER = json.JSONDecoder()
_SPACE = " \t\r\n,"


@dataclass(frozen=True, slots=True)
class Part:
    """One export request as it stands in the file, not yet checked, and where."""

    place: str
    signal: Signal
    body: bytes
    is_json: bool = False


@dataclass(frozen=True, slots=True)
class BadPart:
    """Something in the file that is no export request."""

    place: str
    reason: str


def parts(stream: BinaryIO) -> Iterator[Part | BadPart]:
    """Every request of a file in order; one a line is read line by line, anything else at once."""
    first = stream.readline()
    if _is_json_line(first):
        yield from _line_parts(chain([first], stream))
        return
    data = first + stream.read()
    if not data.strip():
        yield BadPart("byte 0", "the file is empty")
    elif data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[") and (text := _text(data)) is not None:
        yield from _json_parts(text)
    else:
        yield from _protobuf_parts(data)


def _is_json_line(line: bytes) -> bool:
    try:
        return line.endswith(b"\n") and isinstance(json.loads(line), dict)
    except FAULTS:
        return False


def _line_parts(lines: Iterable[bytes]) -> Iterator[Part | BadPart]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        place = f"line {number}"
        try:
            document = json.loads(line)
        except FAULTS as fault:
            yield BadPart(place, f"no JSON: {json_fault(fault)}")
        else:
            yield _json_part(place, document, line)


def _text(data: bytes) -> str | None:
    """The file as text if it is any; a protobuf message may begin with the same bytes as JSON."""
    try:
        return data.decode("utf-8-sig") if b"\0" not in data[:4096] else None
    except UnicodeDecodeError:
        return None


def _protobuf_parts(data: bytes) -> Iterator[Part | BadPart]:
    for frame in frames(data):
        place = f"byte {frame.at:,}"
        if isinstance(frame, Torn):
            yield BadPart(place, frame.reason)
        elif (signal := signal_of_protobuf(frame.body)) is None:
            yield BadPart(place, "a message without a span, data point or log record")
        else:
            yield Part(place, signal, frame.body)


def _json_parts(text: str) -> Iterator[Part | BadPart]:
    at = seen = 0
    line = 1
    while (at := _skip(text, at)) < len(text):
        line += text.count("\n", seen, at)
        place, seen = f"line {line}", at
        try:
            document, end = _DECODER.raw_decode(text, at)
        except FAULTS as fault:
            yield BadPart(place, f"no JSON: {json_fault(fault)}")
            at = _next_line(text, at)
            continue
        if isinstance(document, list):
            yield from (_listed_part(place, one) for one in document)
        else:
            yield _json_part(place, document, text[at:end].encode())
        at = end


def _listed_part(place: str, document: Any) -> Part | BadPart:
    try:
        return _json_part(place, document, json.dumps(document).encode())
    except FAULTS as fault:  # writing goes a little less deep than reading
        return BadPart(place, f"no JSON: {json_fault(fault)}")


def _json_part(place: str, document: Any, written: bytes) -> Part | BadPart:
    if (signal := signal_of_json(document)) is None:
        return BadPart(place, "no object with resourceSpans, resourceMetrics or resourceLogs")
    return Part(place, signal, written, is_json=True)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _next_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1
