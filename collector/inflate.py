"""Decompression that stops at a limit: a bomb costs the limit's memory, never its own size."""

import zlib

from otel_attrib.collector.refusal import Refusal

__all__ = ["inflate", "sniff"]

_GZIP = b"\x1f\x8b"
_ZLIB = 0x78
_WBITS = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
_STEP = 1 << 20
# zlib copies what follows a member, so it is shown little at a time, and members are counted.
_READ = 1 << 16
_MEMBERS = 2000


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
    view, begin, room, members = memoryview(data), 0, limit, 0
    try:
        while begin < len(data) and room >= 0:
            members += 1
            if members > _MEMBERS:
                raise Refusal("malformed", f"the body has more than {_MEMBERS} {encoding} members")
            begin, room = _member(view, begin, encoding, room, parts)
    except zlib.error as fault:
        raise Refusal("malformed", f"the body is not {encoding}: {fault}") from fault
    if room < 0:
        raise Refusal("too_large", f"the body is larger than {limit} bytes when decompressed")
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _member(view: memoryview, begin: int, encoding: str, room: int, parts: list[bytes]) -> tuple[int, int]:
    """Decompress the member at `begin`; give where it ends and what room is left."""
    engine = zlib.decompressobj(_WBITS[encoding])
    while begin < len(view):
        piece: bytes | memoryview = view[begin : begin + _READ]
        begin += len(piece)
        while piece or not engine.eof:
            part = engine.decompress(piece, min(_STEP, room + 1))
            if part:
                parts.append(part)
            room -= len(part)
            piece = engine.unconsumed_tail
            if room < 0 or engine.eof:
                return begin - len(engine.unused_data), room
            if not part and not piece:
                break
    raise Refusal("malformed", f"the {encoding} body ends too early")
