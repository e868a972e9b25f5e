"""Use, steal and clock of the machine's CPUs, from `/proc/stat` and cpufreq.

Use is the share of all CPUs' time that was neither idle nor waiting for a disk since the last reading, time
taken by the hypervisor included. The clock is that of the CPUs on which the engine's processes last ran
(their first threads): idle ones rest at a low clock and say nothing. Machines without cpufreq (most
virtual ones) give no clock: what /proc/cpuinfo prints there is a constant.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from otel_attrib.collector.agent.process_stat import TICKS_PER_SECOND, parse_stat
from otel_attrib.collector.agent.processes import EngineProcesses, shared_processes
from otel_attrib.collector.agent.source import Reading, series
from otel_attrib.collector.sources.held_file import HeldFile

__all__ = ["Cpu", "parse_cpu_times"]

_IDLE, _WAITING, _STOLEN = 3, 4, 7


def parse_cpu_times(raw: bytes) -> tuple[int, ...]:
    """Return the ticks of all CPUs: user, nice, system, idle, iowait, irq, softirq, steal."""
    words = raw.partition(b"\n")[0].split()
    if words[0] != b"cpu" or len(words) < 9:
        raise ValueError(f"no CPU times: {raw[:60]!r}")
    # Guest time, which follows, is part of user time already.
    return tuple(map(int, words[1:9]))


class Cpu:
    """Use, steal and clock of all CPUs."""

    name = "cpu"
    every_s = 1.0

    def __init__(
        self,
        proc: Path = Path("/proc"),
        sys: Path = Path("/sys"),
        processes: EngineProcesses | None = None,
    ) -> None:
        """Read below `proc` and `sys`."""
        self._proc = proc
        self._cpus = sys / "devices" / "system" / "cpu"
        self._processes = processes or shared_processes()
        self._file = HeldFile(proc / "stat", small=False)
        self._before: tuple[int, ...] = ()
        self._use, self._steal = series("cpu_utilization"), series("cpu_steal")
        self._clock = series("cpu_clock")

    def read(self) -> Iterable[Reading]:
        """Return the use since the last reading (none at the first), the steal so far, the clock now."""
        return list(self._read())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _read(self) -> Iterator[Reading]:
        times = parse_cpu_times(self._file.read())
        before, self._before = self._before, times
        if before and (whole := sum(times) - sum(before)) > 0:
            idle = times[_IDLE] + times[_WAITING] - before[_IDLE] - before[_WAITING]
            yield self._use, min(1.0, max(0.0, 1 - idle / whole))
        yield self._steal, times[_STOLEN] / TICKS_PER_SECOND
        clocks = [hertz for cpu in self._engines() if (hertz := self._hertz(cpu))]
        if clocks:
            yield self._clock, sum(clocks) / len(clocks)

    def _engines(self) -> set[int]:
        """Return the CPUs that the engine's processes last ran on."""
        found = set()
        for process in self._processes.current():
            try:
                found.add(parse_stat((self._proc / str(process.pid) / "stat").read_bytes()).processor)
            except OSError:  # ended
                continue
        return found

    def _hertz(self, cpu: int) -> float | None:
        try:
            return int((self._cpus / f"cpu{cpu}" / "cpufreq" / "scaling_cur_freq").read_bytes()) * 1e3
        except (OSError, ValueError):  # none, or "<unknown>"
            return None
