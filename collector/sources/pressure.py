"""Stall time of the engine's control group from PSI, or of the whole machine where it has none of its own.

`some` of `cpu.pressure`, `memory.pressure`, `io.pressure`: how long at least one task of the group waited for
the resource, in µs since the group was made (Documentation/accounting/psi.rst). Only version 2 of control
groups has them; in the topmost group it is `/proc/pressure`.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from otel_attrib.collector.agent.processes import EngineProcesses, shared_processes
from otel_attrib.collector.agent.source import Reading, Series, Unavailable, series
from otel_attrib.collector.sources.cgroups import PRESSURE, Cgroup, EngineCgroups
from otel_attrib.collector.sources.held_file import HeldFile

__all__ = ["Pressure", "parse_stall"]

_RESOURCES: Final = ("cpu", "memory", "io")
_Place = tuple[Series, HeldFile]


def parse_stall(raw: bytes) -> float:
    """Return the seconds of the `some` line; ValueError where it is not such a file."""
    line = raw.partition(b"\n")[0]
    if not line.startswith(b"some "):
        raise ValueError(f"no pressure: {line[:60]!r}")
    return int(line.rpartition(b"total=")[2]) / 1e6


class Pressure:
    """Seconds stalled for CPU, memory and I/O: of each engine's group, else of the machine."""

    name = "pressure"
    every_s = 1.0

    def __init__(
        self,
        proc: Path = Path("/proc"),
        root: Path = Path("/"),
        processes: EngineProcesses | None = None,
    ) -> None:
        """Read below `proc`; control groups are where its mounts say, below `root`."""
        self._machine = [place for name in _RESOURCES if (place := _open(proc / "pressure" / name, name))]
        if not self._machine:
            raise Unavailable("this kernel keeps no pressure (/proc/pressure): start it with psi=1")
        self._cgroups = EngineCgroups(PRESSURE, "cpu.pressure", proc, root, processes or shared_processes())
        self._places: dict[Cgroup, list[_Place]] = {}

    def read(self) -> Iterable[Reading]:
        """Return the seconds stalled so far."""
        return list(self._read())

    def close(self) -> None:
        """Close every file."""
        self._cgroups.close()
        for place in (self._machine, *self._places.values()):
            _close(place)

    def _read(self) -> Iterator[Reading]:
        groups = [found for found in self._cgroups.current() if found.own]
        for gone in self._places.keys() - set(groups):
            _close(self._places.pop(gone))
        read = [reading for group in groups for reading in self._read_group(group)]
        yield from read or ((made, parse_stall(file.read())) for made, file in self._machine)

    def _read_group(self, group: Cgroup) -> list[Reading]:
        if group not in self._places:
            opened = (_open(group.folder / f"{name}.pressure", name, group.path) for name in _RESOURCES)
            self._places[group] = [place for place in opened if place]
        try:
            return [(made, parse_stall(file.read())) for made, file in self._places[group]]
        except OSError:  # the group is gone
            _close(self._places.pop(group))
            return []


def _open(path: Path, resource: str, group: str = "") -> _Place | None:
    """Open one file; None where there is none or the kernel keeps no pressure (which only reading tells)."""
    try:
        file = HeldFile(path)
        parse_stall(file.read())
    except (OSError, ValueError):
        return None
    attributes = {"slatag__cgroup__path": group} if group else {}
    return series(f"{resource}_pressure", **attributes), file


def _close(places: Iterable[_Place]) -> None:
    for _, file in places:
        file.close()
