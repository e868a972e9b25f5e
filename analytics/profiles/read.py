"""Open a profile by what it holds: Kineto JSON or an Nsight Systems SQLite export, plain or gzipped.

Nothing is written but, for a gzipped SQLite export, an unpacked copy in a temporary folder.
"""

import gzip
import shutil
import tempfile
import zlib
from pathlib import Path

from otel_attrib.analytics.profiles.kineto import read_kineto
from otel_attrib.analytics.profiles.nsys import read_nsys
from otel_attrib.analytics.profiles.timeline import Profile
from otel_attrib.errors import DataError, UsageError

__all__ = ["read_profile"]

GZIP, SQLITE = b"\x1f\x8b", b"SQLite format 3\x00"
HEAD = 64


def read_profile(path: Path | str) -> Profile:
    """Read one profile; raises DataError for what is none, UsageError for what cannot be opened."""
    path = Path(path)
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise UsageError(f"{path} is a pipe or a device: a profile is read from a file, in two passes")
        head = _head(path)
        packed = head.startswith(GZIP)
        inner = _unpacked_head(path) if packed else head
        if inner.startswith(SQLITE):
            return _unpack_and_read(path) if packed else read_nsys(path, str(path))
        if inner.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
            with gzip.open(path) if packed else path.open("rb") as source:
                return read_kineto(source, str(path))
    except OSError as fault:
        raise UsageError(f"cannot read {path}: {fault.strerror or fault}") from fault
    raise DataError(_what_it_is(path, inner))


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD)


def _unpacked_head(path: Path) -> bytes:
    try:
        with gzip.open(path) as file:
            return file.read1(HEAD)
    except (EOFError, zlib.error, gzip.BadGzipFile) as fault:
        raise DataError(f"{path} is a damaged gzip file: {fault}") from fault


def _unpack_and_read(path: Path) -> Profile:
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "profile.sqlite"
        try:
            with gzip.open(path) as packed, plain.open("wb") as file:
                shutil.copyfileobj(packed, file, 1 << 20)
        except (EOFError, zlib.error, gzip.BadGzipFile) as fault:
            raise DataError(f"{path} is a damaged gzip file: {fault}") from fault
        return read_nsys(plain, str(path))


def _what_it_is(path: Path, head: bytes) -> str:
    if not head:
        return f"{path} is empty"
    if path.suffix in (".nsys-rep", ".qdrep"):
        return f"{path} is a report: first run nsys export --type sqlite {path}"
    return f"{path} is neither JSON of the PyTorch profiler nor an Nsight Systems SQLite export"
