"""Decompression that stops at a limit: a bomb costs the limit's memory, never its own size."""

import zlib

from otel_attrib.collector.refusal import Refusal

__all__ = ["inflate", "sniff"]

_GZIP = b"\x1f\x8b"
_ZLIB = 0x78
_WBITS = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
_STEP = 1 << 20


def sniff(message: bytes) -> str:
    """The compression of a gRPC message; an OTLP request itself can begin with neither magic word."""
    if message.startswith(_GZIP):
        return "gzip"
    if len(message) > 1 and message[0] == _ZLIB and int.from_bytes(message[:2], "big") % 31 == 0:
        return "deflate"
    return ""


def inflate(data: bytes, encoding: str, limit: int) -> bytes:
    """Decompress all members; `Refusal` when there is more than `limit`, or less than a whole stream."""
    parts: list[bytes] = []
    room = limit
    try:
        while data:
            data, room = _member(data, encoding, room, parts)
    except zlib.error as fault:
        raise Refusal("malformed", f"the body is not {encoding}: {fault}") from fault
    if room < 0:
        raise Refusal("too_large", f"the body is larger than {limit} bytes when decompressed")
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _member(data: bytes, encoding: str, room: int, parts: list[bytes]) -> tuple[bytes, int]:
    engine = zlib.decompressobj(_WBITS[encoding])
    while room >= 0:
        part = engine.decompress(data, min(_STEP, room + 1))
        parts.append(part)
        room -= len(part)
        data = engine.unconsumed_tail
        if engine.eof:
            return engine.unused_data, room
        if not part and not data:
            raise Refusal("malformed", f"the {encoding} body ends too early")
    return b"", room
