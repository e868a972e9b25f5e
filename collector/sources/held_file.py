"""A file of /proc or /sys that is read again and again: opened once, read from its start each time.

Opening and closing costs five times as much as reading (1 µs). At most half of the descriptors that this
process may have are held; files beyond that are opened for each reading.
"""

import os
import resource
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, Final

__all__ = ["HeldFile"]

_WHOLE_AT_ONCE: Final = 65536


class HeldFile:
    """One file; `small` is one that the kernel gives in one piece (less than a page)."""

    held: ClassVar[int] = 0
    most_held: ClassVar[int] = resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2

    def __init__(self, path: str | os.PathLike[str], small: bool = True) -> None:
        """Open it, or raise the OSError."""
        self._path = path
        self._small = small
        self._descriptor: int | None = None
        self._open()

    def read(self) -> bytes:
        """Return what it holds now; ProcessLookupError when the process or thread that it is of has ended."""
        if self._descriptor is None:
            return Path(self._path).read_bytes()
        if self._small:
            return os.pread(self._descriptor, 4096, 0)
        parts: list[bytes] = []
        size = 0
        while part := os.pread(self._descriptor, _WHOLE_AT_ONCE, size):
            parts.append(part)
            size += len(part)
        return b"".join(parts)

    def close(self) -> None:
        """Let go of the descriptor; may be called twice."""
        if self._descriptor is not None:
            with suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = None
            HeldFile.held -= 1

    def _open(self) -> None:
        descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        if HeldFile.held >= HeldFile.most_held:
            os.close(descriptor)
            return
        self._descriptor = descriptor
        HeldFile.held += 1
