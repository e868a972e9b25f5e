"""CPU time and page faults of every engine process from `/proc/<pid>/stat`.

The kernel counts them for the process with its ended threads, so nothing is lost between two readings. CPU
time is exact to a clock tick (10 ms). A *major* fault waited for a disk.
"""

from collections.abc import Iterable
from pathlib import Path

from otel_attrib.collector.agent.process_stat import TICKS_PER_SECOND, parse_stat
from otel_attrib.collector.agent.processes import EngineProcess, EngineProcesses, shared_processes
from otel_attrib.collector.agent.source import Reading
from otel_attrib.collector.sources.held_file import HeldFile
from otel_attrib.collector.sources.per_process import PerProcess, process_series

__all__ = ["ProcessUse"]


class ProcessUse:
    """CPU time by mode and page faults by type, of each process since it began."""

    name = "process_use"
    every_s = 1.0

    def __init__(self, proc: Path = Path("/proc"), processes: EngineProcesses | None = None) -> None:
        """Read below `proc`."""
        self._proc = proc
        self._readers = PerProcess("CPU time and page faults", processes or shared_processes(), self._open)

    def read(self) -> Iterable[Reading]:
        """Return seconds and faults so far."""
        return list(self._readers.read())

    def close(self) -> None:
        """Close every file."""
        self._readers.close()

    def _open(self, process: EngineProcess) -> "_Use":
        return _Use(self._proc / str(process.pid), process)


class _Use:
    def __init__(self, folder: Path, process: EngineProcess) -> None:
        self._file = HeldFile(folder / "stat")
        self._user, self._system = (
            process_series("process_cpu", process, cpu__mode=mode) for mode in ("user", "system")
        )
        self._minor, self._major = (
            process_series("page_faults", process, process__paging__fault_type=kind)
            for kind in ("minor", "major")
        )

    def read(self) -> Iterable[Reading]:
        stat = parse_stat(self._file.read())
        yield self._user, stat.user_ticks / TICKS_PER_SECOND
        yield self._system, stat.system_ticks / TICKS_PER_SECOND
        yield self._minor, float(stat.minor_faults)
        yield self._major, float(stat.major_faults)

    def close(self) -> None:
        self._file.close()
