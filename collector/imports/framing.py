"""Where one protobuf message ends and the next begins in a file of exported OTLP.

Three layouts are told apart by content: one message alone, messages each behind its length as a varint
(as most libraries write them), and behind four bytes, most significant first (as the Collector's file
exporter writes them).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

__all__ = ["Frame", "Torn", "elements", "frames"]

_Head = Callable[[bytes, int], tuple[int, int] | None]
_ONE = 0x0A  # field 1, length-delimited: what every export request is made of


@dataclass(frozen=True, slots=True)
class Frame:
    """One message and the byte it starts at."""

    at: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Torn:
    """The byte from which on nothing can be read."""

    at: int
    reason: str


def frames(data: bytes) -> Iterator[Frame | Torn]:
    """Every message of the file in order; what is left after a cut is one `Torn` at the end."""
    if elements(data) is not None:
        yield Frame(0, data)
    elif _begins(data, _varint):
        yield from _delimited(data, _varint)
    elif _begins(data, _four_bytes):
        yield from _delimited(data, _four_bytes)
    else:
        yield Torn(0, "neither JSON nor OTLP protobuf, single or length-delimited")


def elements(message: bytes) -> list[bytes] | None:
    """The message cut into its fields 1, each whole and a message of its own; None when it is no such."""
    found, at = [], 0
    while at < len(message):
        if message[at] != _ONE or (head := _varint(message, at + 1)) is None:
            return None
        length, start = head
        if start + length > len(message):
            return None
        found.append(message[at : start + length])
        at = start + length
    return found


def _begins(data: bytes, head: _Head) -> bool:
    """Whether a length stands first and what it covers, as far as it is there, is an export request."""
    if (found := head(data, 0)) is None:
        return False
    length, start = found
    body = data[start : start + length]
    return len(body) > 1 and (elements(body) is not None if len(body) == length else body[0] == _ONE)


def _delimited(data: bytes, head: _Head) -> Iterator[Frame | Torn]:
    at = 0
    while at < len(data):
        found = head(data, at)
        if found is None or sum(found) > len(data):
            yield Torn(at, f"cut: the last message is not whole ({len(data) - at:,} bytes left)")
            return
        length, start = found
        if length:
            yield Frame(at, data[start : start + length])
        at = start + length


def _varint(data: bytes, at: int) -> tuple[int, int] | None:
    """The number at `at` and where it ends; None when it is cut or too long."""
    value = 0
    for place, byte in enumerate(data[at : at + 10]):
        value |= (byte & 0x7F) << 7 * place
        if not byte & 0x80:
            return value, at + place + 1
    return None


def _four_bytes(data: bytes, at: int) -> tuple[int, int] | None:
    if at + 4 > len(data):
        return None
    return int.from_bytes(data[at : at + 4], "big"), at + 4
