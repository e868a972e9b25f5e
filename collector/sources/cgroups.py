"""The control groups of the engine's processes as folders that can be read, followed as processes move.

Looked for through this process's own mounts, then through the engine's (`/proc/<pid>/root`), which finds the
group of a container whose namespaces are its own. Version 1 where it has the controller, else version 2.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
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
from otel_attrib.collector.sources.held_file import HeldFile

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


@dataclass(slots=True)
class _Member:
    """A process: its `cgroup` held open, and what was found for what it said."""

    file: HeldFile
    started_ticks: int
    raw: bytes = b""
    groups: tuple[Cgroup, ...] = ()


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
        self._members: dict[int, _Member] = {}

    def current(self) -> tuple[Cgroup, ...]:
        """Return the groups, each once: own ones first, then those above them."""
        found: dict[str, Cgroup] = {}
        for group in chain.from_iterable(map(self._of, self._follow())):
            if group.path not in found or group.own:
                found[group.path] = group
        return tuple(sorted(found.values(), key=lambda group: (not group.own, group.path)))

    def close(self) -> None:
        """Close every file."""
        for member in self._members.values():
            member.file.close()
        self._members.clear()

    def _follow(self) -> tuple[EngineProcess, ...]:
        """Open the `cgroup` of processes that are new, close those that are gone."""
        current = self._processes.current()
        there = {process.pid: process.started_ticks for process in current}
        for pid in [pid for pid, member in self._members.items() if there.get(pid) != member.started_ticks]:
            self._members.pop(pid).file.close()
        for process in current:
            if process.pid not in self._members:
                try:
                    file = HeldFile(self._proc / str(process.pid) / "cgroup")
                except OSError:  # ended, or not ours to see
                    continue
                self._members[process.pid] = _Member(file, process.started_ticks)
        return current

    def _of(self, process: EngineProcess) -> tuple[Cgroup, ...]:
        member = self._members.get(process.pid)
        if member is None:
            return ()
        try:
            raw = member.file.read()
        except OSError:  # ended
            return ()
        if raw != member.raw or not member.groups:
            member.raw, member.groups = raw, tuple(self._groups(process, raw.decode(errors="replace")))
        return member.groups

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
