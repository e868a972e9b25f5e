"""The TCP ports on which the engine answers requests: what its API servers listen on.

Workers and engine cores listen too, for each other; those ports serve no requests and are left out.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from otel_attrib.collector.agent.processes import EngineProcess

__all__ = ["listening_ports"]

_SERVING = ("api_server", "other")
_LISTENS = "0A"


def listening_ports(
    processes: Iterable[EngineProcess], proc: Path = Path("/proc")
) -> dict[int, EngineProcess]:
    """Return the ports that the serving ones of these processes listen on, each with the first that does."""
    found: dict[int, EngineProcess] = {}
    for process in processes:
        if process.role in _SERVING:
            for port in _ports(proc / str(process.pid)):
                found.setdefault(port, process)
    return found


def _ports(folder: Path) -> Iterator[int]:
    """Ports of one process; none where it is gone or not ours to see."""
    mine = _sockets(folder / "fd")
    for table in ("net/tcp", "net/tcp6") if mine else ():
        try:
            lines = (folder / table).read_text().splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, lines):
            if fields[3] == _LISTENS and fields[9] in mine:
                yield int(fields[1].rpartition(":")[2], 16)


def _sockets(folder: Path) -> set[str]:
    """Inodes of the sockets that a process has open."""
    found = set()
    try:
        for name in os.listdir(folder):
            kind, _, rest = os.readlink(folder / name).partition(":[")
            if kind == "socket":
                found.add(rest.rstrip("]"))
    except OSError:
        pass  # it has ended, or closed the file meanwhile: the next look sees it as it is
    return found
