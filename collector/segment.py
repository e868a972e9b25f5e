"""One spool file: what is in it, how it is written whole or not at all, how it is read after a crash.

A file is a magic word and records; a record is a header (payload length, item count, the first 16 bytes
of the payload's SHA-256, the CRC-32 of these) and the payload, one serialized OTLP request.
A file holds one signal, becomes one insert, and its name is that insert's deduplication token.
"""

import os
import secrets
import struct
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from zlib import crc32

__all__ = ["SUFFIX", "OpenSegment", "Record", "Segment", "digest", "read", "recover", "sync_directory"]

SUFFIX = ".seg"
_MAGIC = b"OASPOOL1"
_FIELDS = struct.Struct("<II16s")
_CRC = struct.Struct("<I")
_HEADER = _FIELDS.size + _CRC.size
# Below this a header and its payload are joined: one copy is cheaper than one more system call.
_JOINED = 1 << 16


@dataclass(frozen=True, slots=True)
class Record:
    """One serialized request with its number of items and its digest."""

    payload: bytes
    items: int
    digest: bytes

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return _HEADER + len(self.payload)


@dataclass(frozen=True, slots=True)
class Segment:
    """A file that does not change any more."""

    path: Path
    items: int
    size: int
    digests: tuple[bytes, ...]

    @property
    def token(self) -> str:
        """The deduplication token of its insert."""
        return self.path.stem

    @property
    def signal(self) -> str:
        """The signal that all its records carry."""
        return self.path.stem.partition("-")[0]


def digest(payload: bytes) -> bytes:
    """What tells two requests apart, and a whole payload from a torn one."""
    return sha256(payload).digest()[:16]


class OpenSegment:
    """A file that still grows."""

    def __init__(self, directory: Path, signal: str) -> None:
        """Create the file; its name is safe on disk when this returns."""
        self.since = time.monotonic()
        self.items = 0
        self.size = 0
        self._digests: list[bytes] = []
        self._path = directory / f"{signal}-{time.time_ns():020d}-{secrets.token_hex(4)}{SUFFIX}"
        self._fd = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o640)
        try:
            _write(self._fd, _MAGIC)
            sync_directory(directory)
        except OSError:
            self.discard()
            raise
        self.size = len(_MAGIC)

    def append(self, records: Sequence[Record]) -> None:
        """Write and sync all records, or raise `OSError` and leave the file as it was."""
        try:
            for record in records:
                for part in _parts(record):
                    _write(self._fd, part)
            os.fdatasync(self._fd)
        except OSError:
            self.cut()
            raise
        self.size += sum(record.size for record in records)
        self.items += sum(record.items for record in records)
        self._digests += [record.digest for record in records]

    def cut(self) -> None:
        """Take back what was written after the last success."""
        os.ftruncate(self._fd, self.size)
        os.lseek(self._fd, self.size, os.SEEK_SET)

    def close(self) -> Segment:
        """End the file."""
        os.close(self._fd)
        return Segment(self._path, self.items, self.size, tuple(self._digests))

    def discard(self) -> None:
        """Remove a file without records."""
        os.close(self._fd)
        self._path.unlink(missing_ok=True)


def read(path: Path) -> list[Record]:
    """The records of a segment of this process, which are whole."""
    return [record for record, _ in _records(memoryview(path.read_bytes()))]


def recover(path: Path) -> tuple[list[Record], int, int]:
    """Whole records, how many damaged ones lie between them, and the length without the torn tail."""
    data = path.read_bytes()
    if not data.startswith(_MAGIC):
        return [], 0, 0
    records, damaged, suspect, whole = [], 0, 0, len(_MAGIC)
    for record, end in _records(memoryview(data)):
        if digest(record.payload) != record.digest:
            suspect += 1
            continue
        records.append(record)
        damaged, suspect, whole = damaged + suspect, 0, end
    return records, damaged, whole


def sync_directory(directory: Path) -> None:
    """Make the names in a directory as safe as the files."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _records(data: memoryview) -> Iterator[tuple[Record, int]]:
    at = len(_MAGIC)
    while at + _HEADER <= len(data):
        length, items, expected = _FIELDS.unpack_from(data, at)
        (crc,) = _CRC.unpack_from(data, at + _FIELDS.size)
        start = at + _HEADER
        at = start + length
        if crc != crc32(data[start - _HEADER : start - _CRC.size]) or at > len(data):
            return
        yield Record(bytes(data[start:at]), items, expected), at


def _parts(record: Record) -> tuple[bytes, ...]:
    fields = _FIELDS.pack(len(record.payload), record.items, record.digest)
    header = fields + _CRC.pack(crc32(fields))
    if len(record.payload) < _JOINED:
        return (header + record.payload,)
    return header, record.payload


def _write(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
