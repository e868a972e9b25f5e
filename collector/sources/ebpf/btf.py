"""Where the running kernel keeps a field, from its own type information (BTF).

A program that reads a kernel struct with offsets from here is right on this kernel, whatever version its
headers are of. Format: Documentation/bpf/btf.rst.
"""

import struct
from pathlib import Path
from typing import Final

__all__ = ["VMLINUX", "Btf"]

VMLINUX: Final = "sys/kernel/btf/vmlinux"

_MAGIC: Final = 0xEB9F
_STRUCT, _UNION, _TYPEDEF, _PROTO = 4, 5, 8, 13
# Bytes that follow a type: so many for the type, and so many for each of its parts.
_FIXED: Final = {1: 4, 3: 12, 14: 4, 17: 4}
_EACH: Final = {_STRUCT: 12, _UNION: 12, 6: 8, _PROTO: 8, 15: 12, 19: 12}


class Btf:
    """The types of one kernel; ValueError where the file is not what it claims."""

    def __init__(self, path: Path = Path("/") / VMLINUX) -> None:
        """Read the file and find where each type begins: some 0.2 s."""
        raw = path.read_bytes()
        try:
            magic, _, _, header, types, size, strings, _ = struct.unpack_from("=HBBIIIII", raw)
            if magic != _MAGIC:
                raise ValueError(f"{path} holds no BTF of this machine's byte order")
            self._raw = raw
            self._strings = header + strings
            self._places = _places(raw, header + types, header + types + size)
        except struct.error as fault:
            raise ValueError(f"{path} is cut off: {fault}") from fault

    def offset(self, structure: str, field: str) -> int | None:
        """Return the offset of a field in bytes; None where the struct or the field is not there."""
        for place in self._named(structure, _STRUCT):
            found = self._offset(place, field)
            if found is not None:
                return found
        return None

    def arguments(self, tracepoint: str) -> int | None:
        """Return how many arguments a raw tracepoint has; None where the kernel has no such tracepoint."""
        for place in self._named(f"btf_trace_{tracepoint}", _TYPEDEF):
            pointer = self._places[self._word(place, 2)]
            proto = self._places[self._word(pointer, 2)]
            return (self._word(proto, 1) & 0xFFFF) - 1  # the first is the kernel's own
        return None

    def _named(self, name: str, kind: int) -> list[int]:
        at = self._raw.find(b"\0" + name.encode() + b"\0", self._strings) + 1 - self._strings
        if at <= 0:
            return []
        wanted = struct.pack("=I", at)
        return [
            place
            for place in self._places[1:]
            if self._raw[place : place + 4] == wanted and self._word(place, 1) >> 24 & 31 == kind
        ]

    def _offset(self, place: int, field: str) -> int | None:
        info = self._word(place, 1)
        for part in range(info & 0xFFFF):
            name, kind, offset = struct.unpack_from("=III", self._raw, place + 12 + 12 * part)
            bits: int = offset & 0xFFFFFF if info >> 31 else offset
            if self._text(name) == field:
                return bits // 8
            if not name:  # the fields of a nameless struct are the outer one's
                inner = self._places[kind]
                if self._word(inner, 1) >> 24 & 31 in (_STRUCT, _UNION):
                    found = self._offset(inner, field)
                    if found is not None:
                        return bits // 8 + found
        return None

    def _word(self, place: int, number: int) -> int:
        return int.from_bytes(self._raw[place + 4 * number : place + 4 * number + 4], "little")

    def _text(self, at: int) -> str:
        start = self._strings + at
        return self._raw[start : self._raw.index(b"\0", start)].decode()


def _places(raw: bytes, at: int, end: int) -> list[int]:
    """Return where each type begins; number 0 is void and is nowhere."""
    places = [0]
    words = struct.Struct("=I")
    while at < end:
        places.append(at)
        (info,) = words.unpack_from(raw, at + 4)
        kind = info >> 24 & 31
        at += 12 + _FIXED.get(kind, 0) + _EACH.get(kind, 0) * (info & 0xFFFF)
    return places
