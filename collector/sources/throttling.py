"""CPU throttling of the engine's own control groups, from `cpu.stat` of version 1 or 2.

Time is summed over CPUs, so that it may grow faster than the clock (kernel/sched/fair.c). A quota of a group
above (a pod's, a slice's) throttles as well: such a group is read once its quota has had a period. A group
without a quota has been throttled for 0 s, which is a reading; version 2's topmost group has none to give.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from otel_attrib.collector.agent.processes import EngineProcesses, shared_processes
from otel_attrib.collector.agent.source import Reading, series
from otel_attrib.collector.sources.cgroups import CPU, Cgroup, EngineCgroups
from otel_attrib.collector.sources.held_file import HeldFile

__all__ = ["CpuStat", "Throttling", "parse_cpu_stat"]

CpuStat = tuple[int, int, float]
"""Periods that a quota has had, those in which it ran out, and the seconds throttled."""


def parse_cpu_stat(raw: bytes) -> CpuStat | None:
    """Parse a `cpu.stat`; None where it tells nothing of throttling."""
    words = dict(line.split(None, 1) for line in raw.splitlines() if b" " in line)
    if b"nr_throttled" not in words:
        return None
    if b"throttled_usec" in words:
        seconds = int(words[b"throttled_usec"]) / 1e6
    else:
        seconds = int(words[b"throttled_time"]) / 1e9
    return int(words[b"nr_periods"]), int(words[b"nr_throttled"]), seconds


class Throttling:
    """Throttled time and periods by control group, the engine's own and those above it with a quota."""

    name = "throttling"
    every_s = 0.1

    def __init__(
        self,
        proc: Path = Path("/proc"),
        root: Path = Path("/"),
        processes: EngineProcesses | None = None,
    ) -> None:
        """Read below `proc`; control groups are where its mounts say, below `root`."""
        self._cgroups = EngineCgroups(CPU, "cpu.stat", proc, root, processes or shared_processes())
        self._groups: dict[Cgroup, _Group] = {}

    def read(self) -> Iterable[Reading]:
        """Return what each group has been throttled since it was made."""
        return list(self._read())

    def close(self) -> None:
        """Close every file."""
        self._cgroups.close()
        for group in self._groups.values():
            group.close()
        self._groups.clear()

    def _read(self) -> Iterator[Reading]:
        current = self._cgroups.current()
        for gone in self._groups.keys() - set(current):
            self._groups.pop(gone).close()
        # The topmost group counts only where no process has one of its own.
        nearest = any(group.own for group in current)
        for group in current:
            try:
                yield from self._group(group).read(always=group.own or not nearest)
            except OSError:  # the group is gone; the next look finds where its processes went
                if group in self._groups:
                    self._groups.pop(group).close()

    def _group(self, group: Cgroup) -> "_Group":
        if group not in self._groups:
            self._groups[group] = _Group(group)
        return self._groups[group]


class _Group:
    def __init__(self, group: Cgroup) -> None:
        self._file = HeldFile(group.folder / "cpu.stat")
        self._time = series("cpu_throttled", slatag__cgroup__path=group.path)
        self._periods = series("cpu_throttled_periods", slatag__cgroup__path=group.path)

    def read(self, always: bool) -> Iterator[Reading]:
        found = parse_cpu_stat(self._file.read())
        if found is None or not (always or found[0]):
            return
        yield self._time, found[2]
        yield self._periods, float(found[1])

    def close(self) -> None:
        self._file.close()
