"""Where a library's functions lie in its file: what a uprobe is attached to. ELF, 64 bit, little-endian."""

import mmap
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

__all__ = ["function_offsets"]

_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SEGMENT: Final = struct.Struct("<IIQQQQQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_SYMTAB, _DYNSYM = 2, 11
_LOAD = 1
_FUNCTIONS = (2, 10)  # STT_FUNC, STT_GNU_IFUNC


def function_offsets(library: Path, names: Iterable[str]) -> dict[str, int]:
    """Return the file offset of each named function that the library defines; those it lacks are left out.

    ValueError where the file is no ELF library of 64 bit; OSError where it cannot be read.
    """
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:
        try:
            return _offsets(image, frozenset(names))
        except struct.error as fault:
            raise ValueError(f"{library} is cut off: {fault}") from fault


def _offsets(image: mmap.mmap, names: frozenset[str]) -> dict[str, int]:
    if image[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not an ELF file of 64 bit, little-endian")
    head = _HEADER.unpack_from(image)
    segments = _table(image, _SEGMENT, head[5], head[9], head[10])
    sections = _table(image, _SECTION, head[6], head[11], head[12])
    loads = [segment for segment in segments if segment[0] == _LOAD]
    found: dict[str, int] = {}
    for name, address in _functions(image, sections, names):
        for _, _, offset, start, _, size, _, _ in loads:
            if start <= address < start + size:
                found.setdefault(name, address - start + offset)
    return found


def _table(image: mmap.mmap, row: struct.Struct, at: int, size: int, count: int) -> list[tuple[int, ...]]:
    return [row.unpack_from(image, at + i * size) for i in range(count)]


def _functions(
    image: mmap.mmap, sections: list[tuple[int, ...]], names: frozenset[str]
) -> Iterator[tuple[str, int]]:
    """Name and address of the wanted functions, of the exported ones first."""
    tables = [section for section in sections if section[1] in (_DYNSYM, _SYMTAB)]
    for table in sorted(tables, key=lambda section: -section[1]):
        strings = sections[table[6]]
        text = image[strings[4] : strings[4] + strings[5]]
        wanted = {at: name for name in names for at in _places(text, name)}
        rows = image[table[4] : table[4] + table[5] // _SYMBOL.size * _SYMBOL.size]
        for at, info, _, section, address, _ in _SYMBOL.iter_unpack(rows):
            if section and info & 15 in _FUNCTIONS and at in wanted:
                yield wanted[at], address


def _places(text: bytes, name: str) -> Iterator[int]:
    """Every place that reads `name`: also the end of a longer name, which linkers share."""
    whole = name.encode() + b"\0"
    at = text.find(whole)
    while at >= 0:
        yield at
        at = text.find(whole, at + 1)
