"""The control groups of the engine's processes as folders that can be read, followed as processes move.

Looked for through this process's own mounts, then through the engine's (`/proc/<pid>/root`), which finds the
group of a container whose namespaces are its own. Version 1 where it has the controller, else version 2.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from otel_attrib.collector.agent.processes import EngineProcess, EngineProcesses
from otel_attrib.collector.sources.cgroup_mounts import (
    UNIFIED,
    CgroupMount,
    Membership,
    folder_of,
    parse_memberships,
    parse_mounts,
)

__all__ = ["CPU", "PRESSURE", "Cgroup", "EngineCgroups"]

Controllers = tuple[str, ...]
CPU: Final[Controllers] = ("cpu", UNIFIED)
"""Hierarchies that may have `cpu.stat`, the first to be asked first."""
PRESSURE: Final[Controllers] = (UNIFIED,)
"""Those that may have `cpu.pressure`."""


@dataclass(frozen=True, slots=True)
class Cgroup:
    """A group: its folder and its path in the hierarchy.

    `own` is False for groups above the one that a process is in, and for the topmost one: the machine.
    """

    folder: Path
    path: str
    own: bool


class EngineCgroups:
    """Finds the groups of all engine processes at each call; one that has not moved costs one `read`."""

    def __init__(
        self, controllers: Controllers, file: str, proc: Path, root: Path, processes: EngineProcesses
    ) -> None:
        """Look for groups that have `file`, below `root`, where the mounts of `proc` say."""
        self._controllers = controllers
        self._file = file
        self._proc = proc
        self._root = root
        self._processes = processes
        self._known: dict[tuple[int, bytes], tuple[Cgroup, ...]] = {}

    def current(self) -> tuple[Cgroup, ...]:
        """Return the groups, each once: own ones first, then those above them."""
        known = self._known
        found: dict[str, Cgroup] = {}
        self._known = {}
        for process in self._processes.current():
            try:
                raw = (self._proc / str(process.pid) / "cgroup").read_bytes()
            except OSError:  # ended
                continue
            groups = known.get((process.pid, raw)) or tuple(
                self._groups(process, raw.decode(errors="replace"))
            )
            self._known[process.pid, raw] = groups
            for group in groups:
                if group.path not in found or group.own:
                    found[group.path] = group
        return tuple(sorted(found.values(), key=lambda group: (not group.own, group.path)))

    def _groups(self, process: EngineProcess, text: str) -> Iterator[Cgroup]:
        memberships = parse_memberships(text)
        for mounts, root in self._views(process):
            for controller in self._controllers:
                if groups := list(_walk(controller, self._file, memberships, mounts, root)):
                    yield from groups
                    return

    def _views(self, process: EngineProcess) -> Iterator[tuple[tuple[CgroupMount, ...], Path]]:
        """Yield the mounts of this process, then those of the engine's, with the root that they are below."""
        for pid, root in (("self", self._root), (str(process.pid), self._proc / str(process.pid) / "root")):
            try:
                yield parse_mounts((self._proc / pid / "mountinfo").read_text(errors="replace")), root
            except OSError:  # not ours to see
                continue


def _walk(
    controller: str,
    file: str,
    memberships: tuple[Membership, ...],
    mounts: tuple[CgroupMount, ...],
    root: Path,
) -> Iterator[Cgroup]:
    """Yield the group and those above it that have the file."""
    place = folder_of(controller, memberships, mounts)
    if place is None:
        return
    folder, point, path = Path(place[0]), Path(place[1]), place[2]
    own = not _is_machine(root / folder.relative_to("/"))
    while True:
        here = root / folder.relative_to("/")
        if (here / file).exists():
            yield Cgroup(here, path, own)
        if folder == point:
            return
        folder, path, own = folder.parent, path.rpartition("/")[0] or "/", False


def _is_machine(folder: Path) -> bool:
    """Return whether a group is the topmost of its hierarchy; a namespace may call another `/` as well."""
    first_version, second_version = folder / "release_agent", folder / "cgroup.controllers"
    return first_version.exists() or (second_version.exists() and not (folder / "cgroup.type").exists())
