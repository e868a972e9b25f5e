"""The functions that a shared library exports, and where in the file each begins.

A uprobe is placed at an offset of a file, so a symbol's address is turned into one through the segments that
are loaded. Only the section headers and the dynamic symbols are read: libcuda is 90 MB.
"""

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path

from otel_attrib.errors import OtelAttribError

__all__ = ["NotElf", "exported_functions"]

_LOAD, _DYNAMIC_SYMBOLS, _FUNCTION = 1, 11, 2
_SEGMENT, _SECTION, _SYMBOL = struct.Struct("<IIQQQQQQ"), struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ")


class NotElf(OtelAttribError):
    """A file is no 64-bit little-endian ELF object."""


def exported_functions(path: Path) -> dict[str, int]:
    """Name → file offset of every function that the library at `path` itself defines."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:
        if image[:6] != b"\x7fELF\x02\x01":
            raise NotElf(f"{path} is no 64-bit ELF library")
        try:
            loaded = list(_loaded(image))
            return {name: offset for name, offset in _functions(image, loaded)}
        except struct.error as error:
            raise NotElf(f"{path} is cut short: {error}") from None


def _loaded(image: mmap.mmap) -> Iterator[tuple[int, int, int]]:
    """Address, size and file offset of each loaded segment."""
    (start,) = struct.unpack_from("<Q", image, 32)
    size, count = struct.unpack_from("<HH", image, 54)
    for at in range(start, start + size * count, size):
        kind, _, offset, address, _, in_file, _, _ = _SEGMENT.unpack_from(image, at)
        if kind == _LOAD:
            yield address, in_file, offset


def _sections(image: mmap.mmap) -> list[tuple[int, ...]]:
    (start,) = struct.unpack_from("<Q", image, 40)
    size, count = struct.unpack_from("<HH", image, 58)
    return [_SECTION.unpack_from(image, start + size * n) for n in range(count)]


def _functions(image: mmap.mmap, loaded: list[tuple[int, int, int]]) -> Iterator[tuple[str, int]]:
    sections = _sections(image)
    for _, kind, _, _, offset, size, link, _, _, _ in sections:
        if kind != _DYNAMIC_SYMBOLS:
            continue
        names = sections[link][4]
        for at in range(offset, offset + size, _SYMBOL.size):
            name, info, _, section, address, _ = _SYMBOL.unpack_from(image, at)
            place = _file_offset(address, loaded)
            if info & 15 == _FUNCTION and section and place is not None:
                yield _text(image, names + name), place


def _file_offset(address: int, loaded: list[tuple[int, int, int]]) -> int | None:
    for start, size, offset in loaded:
        if start <= address < start + size:
            return address - start + offset
    return None


def _text(image: mmap.mmap, at: int) -> str:
    return image[at : image.find(b"\0", at)].decode("ascii", "replace")
