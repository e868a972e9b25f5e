"""Open what a user names: a file, a gzipped file (told by its content), or `-` for standard input."""

import gzip
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import BinaryIO, cast

from otel_attrib.errors import DataError

__all__ = ["modified", "opened"]

_GZIP = b"\x1f\x8b"


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """Yield the decompressed bytes as a seekable stream; standard input is kept in a temporary file."""
    try:
        with _raw(path) as raw:
            packed = raw.read(2) == _GZIP
            raw.seek(0)
            yield cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if packed else raw
    except (gzip.BadGzipFile, EOFError) as fault:
        raise DataError(f"{path}: broken gzip: {fault}") from fault
    except OSError as fault:
        raise DataError(f"{path}: {fault.strerror or fault}") from fault


@contextmanager
def _raw(path: str) -> Iterator[BinaryIO]:
    if path != "-":
        with open(path, "rb") as file:
            yield file
        return
    with tempfile.TemporaryFile() as kept:
        shutil.copyfileobj(sys.stdin.buffer, kept)
        kept.seek(0)
        yield cast(BinaryIO, kept)


def modified(path: str) -> datetime | None:
    """When the file was last written; None for standard input."""
    return None if path == "-" else datetime.fromtimestamp(os.stat(path).st_mtime, UTC)
