"""Three faults of the CPU that are switched on and off within a millisecond, and when they were on.

What takes the engine core's processor away is started beforehand and sleeps (SIGSTOP) while the fault is off.
The engine lives in a control group of its own, as in a container: a quota is the group's, and a priority
counts only among what is in one group.
"""

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.attribution.real.harm import limit_cpu, made_cgroup

__all__ = ["FAULTS", "Engine", "Fault", "alternate", "cgroup_of", "pin", "switched"]

FAULTS = ("hog", "quota", "nice")
BUSY = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"
NICE = 19
HOGS = 2
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


@dataclass(frozen=True)
class Engine:
    """The engine: its core's pid and processor, its control group, and a quota as share of a processor."""

    core: int
    cpu: int
    group: Path
    quota: float


@dataclass(frozen=True)
class Fault:
    """A switch."""

    on: Callable[[], object]
    off: Callable[[], object]


class Competitors:
    """Processes that compute on one processor while they are let; they die with this one."""

    def __init__(self, cpu: int, count: int) -> None:
        """Start them, asleep, each in a session of its own."""
        command = [sys.executable, "-c", BUSY, str(cpu)]
        self.processes = [
            subprocess.Popen(command, start_new_session=True, preexec_fn=_die_with_parent)
            for _ in range(count)
        ]
        self.rest()

    def work(self) -> None:
        """Let them compute."""
        for process in self.processes:
            process.send_signal(signal.SIGCONT)

    def rest(self) -> None:
        """Let them sleep."""
        for process in self.processes:
            process.send_signal(signal.SIGSTOP)

    def close(self) -> None:
        """End them."""
        for process in self.processes:
            process.kill()
            process.wait()


def _die_with_parent() -> None:
    """Ask for a SIGKILL, which a sleeping process takes as well; runs in the child."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


@contextmanager
def switched(name: str, engine: Engine) -> Iterator[Fault]:
    """Have one of `FAULTS` ready; it is off before and after."""
    with ExitStack() as stack:
        fault = _MAKERS[name](engine, stack)
        stack.callback(fault.off)
        yield fault


def _hog(engine: Engine, stack: ExitStack) -> Fault:
    """Two processes, each of a session of its own, compute on the core's processor."""
    hogs = _competitors(engine, HOGS, stack)
    return Fault(hogs.work, hogs.rest)


def _quota(engine: Engine, stack: ExitStack) -> Fault:
    """The engine's group may use a share of one processor."""
    return Fault(lambda: limit_cpu(engine.group, engine.quota), lambda: limit_cpu(engine.group, None))


def _nice(engine: Engine, stack: ExitStack) -> Fault:
    """The core yields to a process of usual priority in its own group."""
    competitors = _competitors(engine, 1, stack)
    (engine.group / "cgroup.procs").write_text(str(competitors.processes[0].pid))

    def on() -> None:
        _renice(engine.core, NICE)
        competitors.work()

    def off() -> None:
        competitors.rest()
        _renice(engine.core, 0)

    return Fault(on, off)


_MAKERS: dict[str, Callable[[Engine, ExitStack], Fault]] = {"hog": _hog, "quota": _quota, "nice": _nice}


def _competitors(engine: Engine, count: int, stack: ExitStack) -> Competitors:
    competitors = Competitors(engine.cpu, count)
    stack.callback(competitors.close)
    return competitors


def _renice(pid: int, nice: int) -> None:
    for tid in _threads(pid):
        with suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, tid, nice)


def pin(pid: int, cpu: int) -> None:
    """Keep every thread of a process on one processor; those that it begins later stay there too."""
    for tid in _threads(pid):
        with suppress(ProcessLookupError):
            os.sched_setaffinity(tid, {cpu})


def _threads(pid: int) -> list[int]:
    return [int(name) for name in os.listdir(f"/proc/{pid}/task")]


@contextmanager
def cgroup_of(pids: Iterable[int]) -> Iterator[Path]:
    """Put processes into a control group of this program's own; back, and the group away, at the end."""
    folder = made_cgroup(f"otel-attrib-host-faults-{os.getpid()}")
    try:
        for pid in pids:
            (folder / "cgroup.procs").write_text(str(pid))
        yield folder
    finally:
        for left in (folder / "cgroup.procs").read_text().split():
            with suppress(ProcessLookupError):
                (folder.parent / "cgroup.procs").write_text(left)
        with suppress(OSError):  # a process that is ending holds it a moment longer
            folder.rmdir()


async def alternate(fault: Fault, cycles: int, seconds: float) -> list[tuple[int, int]]:
    """Switch on after each `seconds` of rest; return when it was on, ns since 1970."""
    stretches = []
    for _ in range(cycles):
        await asyncio.sleep(seconds)
        start = time.time_ns()
        fault.on()
        try:
            await asyncio.sleep(seconds)
        finally:
            fault.off()
            stretches.append((start, time.time_ns()))
    return stretches
