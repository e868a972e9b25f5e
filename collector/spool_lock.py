"""Where the spool lies, and that one process has it."""

import fcntl
import hashlib
import os
from pathlib import Path
from tempfile import mkdtemp

from otel_attrib.errors import OtelAttribError
from otel_attrib.schema.dsn import MEMORY, Dsn, default_dsn, parse_dsn

__all__ = ["SpoolLock", "spool_directory"]

_NAME = "lock"


def spool_directory(configured: str, dsn: Dsn) -> Path:
    """The configured directory, else one beside the store, so that each store has its own."""
    if configured:
        return Path(configured)
    if dsn.path == MEMORY:
        return Path(mkdtemp(prefix="otel-attrib-spool-"))
    if dsn.path is not None:
        return Path(f"{dsn.path}-spool")
    ours = Path(str(parse_dsn(default_dsn()).path))
    return ours.with_name(f"{ours.name}-spool-{hashlib.sha256(dsn.shown.encode()).hexdigest()[:8]}")


class SpoolLock:
    """Held while the file is open, so it ends with the process, however that ends."""

    def __init__(self, directory: Path, store: str) -> None:
        """Take it, or say who has it; `store` is the store's name in that message."""
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o750)
            self._file = (directory / _NAME).open("a+")
        except OSError as fault:
            raise OtelAttribError(
                f"spool {directory} cannot be written ({fault.strerror}): give --spool another"
            ) from fault
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as fault:
            raise OtelAttribError(
                f"store {store} with spool {directory} is served by {self._holder()} already: "
                "ask that with --url, or stop it"
            ) from fault
        self._file.truncate(0)
        self._file.write(f"{os.getpid()}\n")
        self._file.flush()

    def release(self) -> None:
        """Let the next process have it."""
        self._file.close()

    def _holder(self) -> str:
        self._file.seek(0)
        pid = self._file.read().strip()
        self._file.close()
        return f"process {pid}" if pid else "another process"
