"""The network namespaces that the engine's processes are in, told apart without any privilege.

The link `/proc/<pid>/ns/net` names one, but may be read by the process's own user and root alone; where it
may not, the inode of `/proc/<pid>/net/dev`, which every namespace has of its own, tells two apart as well.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from otel_attrib.collector.agent.processes import EngineProcess

__all__ = ["Namespace", "namespaces_of"]


@dataclass(frozen=True, slots=True)
class Namespace:
    """One namespace: its inode, the folder `net` through which it is seen, and who of the engines is in it.

    `own` is True where it is this process's own.
    """

    name: str
    folder: Path
    own: bool
    processes: tuple[EngineProcess, ...]


def namespaces_of(processes: Iterable[EngineProcess], proc: Path) -> tuple[Namespace, ...]:
    """Return the namespaces of these processes; this process's own where there are none."""
    home = _identities(proc / "self")
    members: dict[str, list[EngineProcess]] = {}
    for process in processes:
        seen = _identities(proc / str(process.pid))
        if seen:
            # The name of this process's own one is known even where the other's link may not be read.
            name = home[0] if home and set(seen) & set(home) else seen[0]
            members.setdefault(name, []).append(process)
    if not members:
        return (Namespace(home[0], proc / "self" / "net", True, ()),) if home else ()
    return tuple(
        Namespace(name, proc / str(those[0].pid) / "net", bool(home) and name == home[0], tuple(those))
        for name, those in sorted(members.items())
    )


def _identities(folder: Path) -> tuple[str, ...]:
    """Return what names the namespace of a process, the best first; nothing when the process is gone."""
    found = []
    try:
        found.append(os.readlink(folder / "ns" / "net").removeprefix("net:[").rstrip("]"))
    except OSError:  # gone, or not ours to see
        pass
    try:
        found.append(f"dev-{(folder / 'net' / 'dev').stat().st_ino}")
    except OSError:
        pass
    return tuple(found)
