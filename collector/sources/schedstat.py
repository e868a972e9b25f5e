"""Run-queue wait of every engine thread from `/proc/<pid>/task/*/schedstat`, without any privilege.

The second number of the line is how long the thread was runnable and had no CPU, in ns, since it began
(Documentation/scheduler/sched-stats.rst). A wait is added when the thread gets its CPU, so a wait that goes
on is not in it yet. Read ten times a second, because requests are short.

Cost: one `pread` of 1 µs for each thread that is awake; 100 threads at 10 Hz are 0.03 % of a core, 0.3 %
on a busy machine where every reading finds cold caches (benchmarks/host_sources.py).
"""

import logging
from collections.abc import Iterable
from pathlib import Path

from otel_attrib.collector.agent.processes import EngineProcess, EngineProcesses, shared_processes
from otel_attrib.collector.agent.source import Reading, Unavailable
from otel_attrib.collector.sources.claims import claimed
from otel_attrib.collector.sources.per_process import PerProcess, process_series
from otel_attrib.collector.sources.thread_sums import ThreadSums

__all__ = ["Schedstat", "parse_schedstat"]

_log = logging.getLogger(__name__)


def parse_schedstat(raw: bytes) -> tuple[int, ...]:
    """Return the run-queue wait of one `schedstat` line, in ns."""
    return (int(raw.split()[1]),)


class Schedstat:
    """Run-queue wait by process, the sum over its threads; those that ended keep theirs."""

    name = "schedstat"
    every_s = 0.1

    def __init__(self, proc: Path = Path("/proc"), processes: EngineProcesses | None = None) -> None:
        """Read below `proc`."""
        if not (proc / "self" / "schedstat").exists():
            raise Unavailable(
                "this kernel keeps no run-queue wait (no /proc/self/schedstat): "
                "one built with CONFIG_SCHEDSTATS does"
            )
        self._proc = proc
        self._readers = PerProcess("run-queue wait", processes or shared_processes(), self._open)

    def read(self) -> Iterable[Reading]:
        """Return the seconds waited by each process since its threads began; none while eBPF gives them."""
        if claimed("run_queue_wait"):
            return []
        return list(self._readers.read())

    def close(self) -> None:
        """Close every file."""
        self._readers.close()

    def _open(self, process: EngineProcess) -> "_Waits":
        return _Waits(self._proc / str(process.pid), process)


class _Waits:
    def __init__(self, folder: Path, process: EngineProcess) -> None:
        self._sums = ThreadSums(folder, "schedstat", parse_schedstat, let_rest=True)
        self._series = process_series("run_queue_wait", process)
        if self._sums.main_only:
            _log.warning(
                "the threads of pid %d may not be listed: its first thread stands for it", process.pid
            )

    def read(self) -> Iterable[Reading]:
        yield self._series, self._sums.read()[0] / 1e9

    def close(self) -> None:
        self._sums.close()
