"""Are there too many items in a serialized request? Told from its bytes, before anything is made of them.

Protobuf's parser needs 170 bytes for an empty span of two, and lets nothing else run while it parses:
a small body of very many items must not come that far.
"""

from collections.abc import Sequence

from otel_attrib.collector.signals import LOGS, METRICS, TRACES, Signal

__all__ = ["has_more_items"]

# The tags (length-delimited) that lead from a request to its items, level by level.
_PATHS: dict[str, Sequence[bytes]] = {
    TRACES.name: (b"\x0a", b"\x12", b"\x12"),
    LOGS.name: (b"\x0a", b"\x12", b"\x12"),
    METRICS.name: (b"\x0a", b"\x12", b"\x12", b"\x2a\x3a\x4a\x52\x5a", b"\x0a"),
}
# Fields that lead nowhere are looked at too, as many of them for each item allowed.
_FIELDS = 8
_FIXED = {1: 8, 5: 4}


def has_more_items(signal: Signal, body: bytes, most: int) -> bool:
    """Whether any level of the request has more than `most` parts; a torn one is the parser's to tell."""
    if len(body) <= 2 * most:
        # No part is shorter than two bytes.
        return False
    try:
        return _exceeds(body, _PATHS[signal.name], most)
    except IndexError:
        return False


def _exceeds(body: bytes, path: Sequence[bytes], most: int) -> bool:
    counts, looks = [0] * len(path), _FIELDS * most
    waiting = [(0, len(body), 0)]
    while waiting:
        at, end, level = waiting.pop()
        wanted = path[level]
        while at < end:
            looks -= 1
            tag, at = _number(body, at)
            length, start = _extent(body, at, tag & 7)
            at = start + length
            if tag < 128 and tag in wanted:
                counts[level] += 1
                if level + 1 < len(path):
                    waiting.append((start, at, level + 1))
            if looks < 0 or counts[level] > most:
                return True
    return False


def _extent(body: bytes, at: int, wire: int) -> tuple[int, int]:
    """How long a field's value is and where it starts."""
    if wire == 2:
        return _number(body, at)
    if wire == 0:
        return 0, _number(body, at)[1]
    # Groups have no length; they are a level of their own in no OTLP message.
    return _FIXED.get(wire, 0), at


def _number(body: bytes, at: int) -> tuple[int, int]:
    value, shift = body[at], 7
    at += 1
    if value < 128:
        return value, at
    value &= 127
    while shift < 70:
        byte = body[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise IndexError("a number of more than ten bytes")
