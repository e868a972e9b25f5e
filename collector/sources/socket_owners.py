"""Which sockets are the engine's: by their inodes in `/proc/<pid>/fd`, else by the user that made them.

The folder may be read by the process's own user and root alone. For anybody else the sockets of that user in
the namespace stand for the engine's, and that is said once.
"""

import logging
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from otel_attrib.collector.agent.processes import EngineProcess
from otel_attrib.collector.sources.socket_diag import TcpSocket

__all__ = ["SocketOwners"]

_log = logging.getLogger(__name__)
_AGAIN_S = 5.0
_LACK = (
    "the sockets of pid %d (%s) and its like may not be listed: all of its user's stand for them "
    "(run the agent as that user, or as root)"
)


class SocketOwners:
    """Knows the inodes of some processes' sockets; looks again when a new socket appears or 5 s have gone."""

    def __init__(
        self, proc: Path, now: Callable[[], float] = time.monotonic, said: set[str] | None = None
    ) -> None:
        """Look below `proc`, by the clock `now`; what is in `said` was said already, by one of its like."""
        self._proc = proc
        self._now = now
        self._due = float("-inf")
        self._inodes: frozenset[int] = frozenset()
        self._users: frozenset[int] = frozenset()
        self._judged: frozenset[bytes] = frozenset()
        self._said = set() if said is None else said

    def owned(self, sockets: list[TcpSocket], processes: Iterable[EngineProcess]) -> list[TcpSocket]:
        """Return the sockets that these processes hold."""
        there = frozenset(found.identity for found in sockets if found.inode)
        if not there <= self._judged or self._now() >= self._due:
            self._look(processes)
        self._judged = there
        return [found for found in sockets if found.inode in self._inodes or found.user in self._users]

    def _look(self, processes: Iterable[EngineProcess]) -> None:
        inodes: set[int] = set()
        users: set[int] = set()
        for process in processes:
            folder = self._proc / str(process.pid)
            try:
                inodes.update(_inodes(folder / "fd"))
            except PermissionError:
                users.update(_user(folder))
                self._tell(process)
            except OSError:  # ended
                continue
        self._inodes, self._users = frozenset(inodes), frozenset(users)
        self._due = self._now() + _AGAIN_S

    def _tell(self, process: EngineProcess) -> None:
        if _LACK not in self._said:
            self._said.add(_LACK)
            _log.warning(_LACK, process.pid, process.command)


def _inodes(folder: Path) -> Iterable[int]:
    for name in os.listdir(folder):
        try:
            target = os.readlink(folder / name)
        except FileNotFoundError:  # closed meanwhile
            continue
        if target.startswith("socket:["):
            yield int(target[8:-1])


def _user(folder: Path) -> Iterable[int]:
    """Return the effective user of a process."""
    try:
        lines = (folder / "status").read_text(errors="replace").splitlines()
    except OSError:
        return
    yield from (int(line.split()[2]) for line in lines if line.startswith("Uid:"))
