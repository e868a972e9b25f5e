"""What the host says while the traffic runs, once a second, as a table for `otel-attrib import samples`.

Read from /proc and the CPU controller of the engine's own processes: run-queue wait and CPU throttling,
pressure, use and steal of all cores, and TCP segments sent again in this network namespace.
"""

import csv
import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["COLUMNS", "HostSampler"]

PROC = Path("/proc")
COLUMNS = (
    "run_queue_wait",
    "cpu_throttled",
    "cpu_pressure",
    "memory_pressure",
    "cpu_utilization",
    "cpu_steal",
    "tcp_retransmits",
)
HERTZ = os.sysconf("SC_CLK_TCK")
CORES = os.cpu_count() or 1


class HostSampler:
    """Samples until it is left; `processes` names the pids whose threads are watched."""

    def __init__(self, path: Path, processes: Callable[[], Iterable[int]], throttled: Iterable[Path]) -> None:
        """Write to `path`; `throttled` are the `cpu.stat` of the engine's own cgroups."""
        self._path = path
        self._processes = processes
        self._throttled = tuple(throttled)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._waited: dict[Path, float] = {}
        self._idle: tuple[float, float] | None = None

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End, with the table written."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        with self._path.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(("time", *COLUMNS))
            while not self._stop.is_set():
                table.writerow((f"{time.time():.6f}", *self._read()))
                file.flush()
                self._stop.wait(1.0)

    def _read(self) -> list[str]:
        busy = self._utilization()
        values = (
            self._run_queue_wait(),
            sum(map(_throttled, self._throttled)),
            _pressure("cpu"),
            _pressure("memory"),
            busy,
            _cpu_times()[7] / HERTZ,
            _retransmits(),
        )
        return ["" if value is None else f"{value:.6f}" for value in values]

    def _run_queue_wait(self) -> float:
        """Seconds that the engine's threads were runnable and not running; threads that ended keep theirs."""
        for pid in self._processes():
            for task in (PROC / str(pid) / "task").glob("*"):
                try:
                    self._waited[task] = int((task / "schedstat").read_text().split()[1]) / 1e9
                except (OSError, IndexError, ValueError):  # ended meanwhile
                    continue
        return sum(self._waited.values())

    def _utilization(self) -> float | None:
        times = _cpu_times()
        idle, whole = times[3] + times[4], sum(times[:8])
        before, self._idle = self._idle, (idle, whole)
        if before is None or whole == before[1]:
            return None
        return min(1.0, max(0.0, 1 - (idle - before[0]) / (whole - before[1])))


def _cpu_times() -> list[float]:
    return [float(word) for word in (PROC / "stat").read_text().split("\n", 1)[0].split()[1:]]


def _pressure(resource: str) -> float | None:
    try:
        line = (PROC / "pressure" / resource).read_text().splitlines()[0]
    except OSError:
        return None
    return int(line.rpartition("=")[2]) / 1e6


def _throttled(stat: Path) -> float:
    words = dict(line.split() for line in stat.read_text().splitlines())
    if "throttled_usec" in words:
        return int(words["throttled_usec"]) / 1e6
    return int(words["throttled_time"]) / 1e9


def _retransmits() -> float:
    lines = (PROC / "net" / "snmp").read_text().splitlines()
    names, values = (line.split()[1:] for line in lines if line.startswith("Tcp:"))
    return float(dict(zip(names, values, strict=True))["RetransSegs"])
