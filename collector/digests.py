"""The requests acknowledged lately, so that a repeated one is not stored twice, across restarts too.

A digest is remembered for `seconds` at least, and for up to a quarter more, unless more than `limit`
are newer. Those of requests still in the spool are read from the spool itself; once a request is in the
store, `keep` puts its digest on disk.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Lock

__all__ = ["Digests"]

_WIDTH = 16
_GENERATIONS = 4
_NAME = "digests-{:020d}.log"


class Digests:
    """A set that forgets, kept in generations: the oldest one is dropped whole."""

    def __init__(
        self, directory: Path, seconds: float, limit: int = 500_000, clock: Callable[[], float] = time.time
    ) -> None:
        """Read back what earlier processes kept."""
        self._directory = directory
        self._seconds = seconds
        self._limit = limit
        self._clock = clock
        self._lock = Lock()
        self._generations: deque[tuple[float, set[bytes]]] = deque([(clock(), set())])
        self._file: Path | None = None
        self._file_since = 0.0
        for path in self._files():
            self._generations.appendleft((path.stat().st_mtime, _digests(path)))

    def __contains__(self, digest: bytes) -> bool:
        """Whether a request with this digest was acknowledged lately."""
        return any(digest in known for _, known in self._generations)

    def add(self, digests: Iterable[bytes]) -> None:
        """Remember in this process."""
        since, newest = self._generations[-1]
        newest.update(digests)
        if self._is_old(since) or len(newest) > self._limit // _GENERATIONS:
            self._generations.append((self._clock(), set()))
            self._forget()

    def keep(self, digests: Iterable[bytes]) -> None:
        """Remember for later processes; on disk when this returns."""
        with self._lock:
            if self._file is None or self._is_old(self._file_since):
                self._file_since = self._clock()
                self._file = self._directory / _NAME.format(int(self._file_since * 1e9))
                self._drop_files()
            with self._file.open("ab") as file:
                file.write(b"".join(digests))
                file.flush()
                os.fdatasync(file.fileno())

    def _is_old(self, since: float) -> bool:
        return self._clock() - since >= self._seconds / _GENERATIONS

    def _forget(self) -> None:
        oldest = self._clock() - self._seconds
        # The times are those at which a generation began, so it ended when the next one did.
        while len(self._generations) > 1 and (
            self._generations[1][0] <= oldest or self._count() > self._limit
        ):
            self._generations.popleft()

    def _count(self) -> int:
        return sum(len(known) for _, known in self._generations)

    def _files(self) -> list[Path]:
        oldest = self._clock() - self._seconds
        paths = sorted(self._directory.glob("digests-*.log"), reverse=True)
        return [path for path in paths if path.stat().st_mtime >= oldest]

    def _drop_files(self) -> None:
        fresh = set(self._files())
        for path in self._directory.glob("digests-*.log"):
            if path not in fresh:
                path.unlink(missing_ok=True)


def _digests(path: Path) -> set[bytes]:
    data = path.read_bytes()
    return {data[at : at + _WIDTH] for at in range(0, len(data) - _WIDTH + 1, _WIDTH)}
