"""Run-queue wait and blocked time of every engine thread, from the scheduler's own tracepoints.

For each process: `run_queue_wait` (runnable without a processor) with the number of single waits and their
P99, `off_cpu` by the reason for which its threads blocked, and `idle_wait` where they waited for work. Of
each thread, time on a processor + run-queue wait + blocked time is the time that passed. A wait that goes on
is in the totals up to now. Spells that began before the process was found are left out.

While it runs, the source `schedstat` leaves run-queue wait to it. Needs what `features` says; without it
`schedstat` remains. Cost: docs/ebpf.md.
"""

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import numpy as np

from otel_attrib.collector.agent.processes import EngineProcess, EngineProcesses, shared_processes
from otel_attrib.collector.agent.source import Reading, Unavailable
from otel_attrib.collector.sources.claims import claim, release
from otel_attrib.collector.sources.ebpf.btf import Btf
from otel_attrib.collector.sources.ebpf.features import lacks
from otel_attrib.collector.sources.ebpf.loader import Program, Tool, fallback, load
from otel_attrib.collector.sources.ebpf.process_totals import ProcessTotals
from otel_attrib.collector.sources.ebpf.reasons import OUTSIDE, UNKNOWN
from otel_attrib.collector.sources.ebpf.sched_maps import MAPS, Highest, blocked_sums, ongoing
from otel_attrib.collector.sources.ebpf.wait_slots import SLOTS

__all__ = ["SCHED_TOOLS", "Sched", "load_sched"]

_log = logging.getLogger(__name__)

_SOURCE: Final = Path(__file__).with_name("sched.c")
_SIZES: Final = {"PROCESSES": 256, "THREADS": 16384}
_SCHEDULER: Final = {
    "sched_switch": "on_switch",
    "sched_wakeup": "on_wakeup",
    "sched_wakeup_new": "on_wakeup",
    "sched_process_exit": "on_end",
    "task_newtask": "on_new",
}
_CALLS: Final = {"sys_enter": "on_enter", "sys_exit": "on_exit_call"}
SCHED_TOOLS: Final = {
    True: Tool(_SOURCE, MAPS, raw_tracepoints=_SCHEDULER),
    False: Tool(_SOURCE, MAPS, raw_tracepoints=_SCHEDULER | _CALLS),
}
"""What is loaded, by whether registers tell the system call."""
_RELIST_S: Final = 30.0


def load_sched(by_registers: bool | None = None) -> tuple[Program, bool]:
    """Load `sched.c`; return it and whether it reads registers (Linux 5.15, x86_64).

    That costs nothing while nobody blocks. Where it cannot be had every system call is followed, unless one
    way is asked for. Raises `Unavailable`.
    """
    if by_registers is None:
        try:
            return load_sched(os.uname().machine == "x86_64")
        except Unavailable as fault:
            if lacks(SCHED_TOOLS[True].needs):
                raise
            _log.info("%s: every system call is followed instead", fault)
            by_registers = False
    if missing := lacks(SCHED_TOOLS[by_registers].needs):
        raise Unavailable(fallback(missing))
    defines = _SIZES | _layout() | ({"BY_REGISTERS": 1} if by_registers else {})
    return load(SCHED_TOOLS[by_registers], defines), by_registers


def _layout() -> dict[str, int]:
    """Where this kernel keeps what `sched.c` reads of a task."""
    types = Btf()
    pid = types.offset("task_struct", "pid")
    state = types.offset("task_struct", "__state")  # `state` before Linux 5.14
    state = types.offset("task_struct", "state") if state is None else state
    if pid is None or state is None:
        raise Unavailable("no eBPF: this kernel's type information has no task_struct with pid and state")
    given = (types.arguments("sched_switch") or 0) > 3
    return {"TASK_PID": pid, "TASK_STATE": state} | ({"STATE_GIVEN": 1} if given else {})


class Sched:
    """Reads the scheduler's sums; see the module."""

    name = "sched"
    every_s = 0.1

    def __init__(
        self,
        proc: Path = Path("/proc"),
        processes: EngineProcesses | None = None,
        *,
        by_registers: bool | None = None,
        claiming: bool = True,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """Load and attach; without `claiming`, `schedstat` goes on giving run-queue wait as well."""
        self._proc = proc
        self._processes = processes or shared_processes()
        self._clock_ns = clock_ns
        self._watched: dict[tuple[int, int], ProcessTotals] = {}
        self._listed_ns = 0
        self._highest = Highest()
        self._lost: tuple[int, ...] = (0, 0)
        self._told: set[str] = set()
        self.program, registers = load_sched(by_registers)
        self._first_call = OUTSIDE if registers else UNKNOWN
        self._claiming = claiming
        if claiming:
            claim("run_queue_wait")

    def read(self) -> Iterable[Reading]:
        """Return the totals of each process since it was found; one that ended is told once more."""
        ended = self._follow()
        readings = list(self._readings())
        for key in ended:
            self._drop(key)
        self._tell_lost()
        return readings

    def close(self) -> None:
        """Take the programs out of the kernel."""
        self.program.close()
        if self._claiming:
            self._claiming = False
            release("run_queue_wait")

    def _readings(self) -> Iterator[Reading]:
        maps = self.program.maps
        sums = blocked_sums(maps["blocked"].items())
        queued = {pid: numbers for (pid,), numbers in maps["queued"].items()}
        now = self._clock_ns()
        blocked, waiting = ongoing(maps["threads"].raw()[1], now)
        for (pid, _), totals in self._watched.items():
            count, ns, *slots = queued.get(pid, (0,) * (SLOTS + 2))
            highest = self._highest.of((pid, ""), ns + waiting.get(pid, 0))
            yield from totals.waits(now, count, highest, np.array(slots, np.uint64))
            reasons = {reason for of, reason in (*sums, *blocked) if of == pid}
            for reason in sorted(reasons):
                ended = sums.get((pid, reason))
                so_far = (ended.ns if ended else 0) + blocked.get((pid, reason), 0)
                highest = self._highest.of((pid, reason), so_far)
                yield from totals.spells(reason, ended.count if ended else 0, highest)

    def _follow(self) -> list[tuple[int, int]]:
        """Watch processes that appeared; return those that ended."""
        current = {(process.pid, process.started_ticks): process for process in self._processes.current()}
        for key in current.keys() - self._watched.keys():
            for old in [each for each in self._watched if each[0] == key[0]]:  # its pid is used again
                self._drop(old)
            if self._watch(current[key]):
                self._watched[key] = ProcessTotals(current[key])
        for key, totals in self._watched.items():
            if key in current and current[key].role != totals.process.role:  # known better by now
                self._watched[key] = ProcessTotals(current[key])
        now = self._clock_ns()
        if now - self._listed_ns > _RELIST_S * 1e9:
            self._listed_ns = now
            for pid, _ in self._watched:
                self._list_threads(pid)
        return list(self._watched.keys() - current.keys())

    def _watch(self, process: EngineProcess) -> bool:
        # In this order: a thread that begins after `watched` is seen by the kernel, one before it is listed.
        try:
            self.program.maps["queued"].put((process.pid,), (0,) * (SLOTS + 2))
            self.program.maps["watched"].put((process.pid,), (1,))
        except OSError:
            self._full(f"{_SIZES['PROCESSES']} processes")
            return False
        self._list_threads(process.pid)
        return True

    def _list_threads(self, pid: int) -> None:
        try:
            tids = os.listdir(self._proc / str(pid) / "task")
        except OSError:  # ended meanwhile
            return
        try:
            for tid in map(int, tids):
                self.program.maps["threads"].put_new((tid,), (pid, self._first_call, 0, 0, 0))
        except OSError:
            self._full(f"{_SIZES['THREADS']} threads")

    def _full(self, most: str) -> None:
        if most not in self._told:
            self._told.add(most)
            _log.warning("sched: more than %s: the time of the others is missing", most)

    def _drop(self, key: tuple[int, int]) -> None:
        """Forget a process, in the kernel as well."""
        pid = key[0]
        maps = self.program.maps
        maps["watched"].drop(pid)
        for (tid,), (of, *_) in maps["threads"].items():
            if of == pid:
                maps["threads"].drop(tid)
        for of, call in [key for key, _ in maps["blocked"].items()]:
            if of == pid:
                maps["blocked"].drop(of, call)
        maps["queued"].drop(pid)
        self._highest.forget(pid)
        del self._watched[key]

    def _tell_lost(self) -> None:
        now = tuple(count for _, (count,) in sorted(self.program.maps["lost"].items())[:2])
        if now != self._lost:
            _log.warning("sched: no room for %d threads and %d spells: their time is missing", now[0], now[1])
            self._lost = now
