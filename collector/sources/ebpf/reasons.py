"""Why a thread blocked, by the system call it was in: is it kept waiting, or does it wait for work?

A *hindrance* is time that delays what the thread has begun. *Idle* is waiting for something to do: it grows
when there is less load. A futex is a hindrance although a pool's threads wait for work on one as well: the
kernel cannot tell a lock from a queue.
"""

import csv
import platform
from pathlib import Path
from typing import Final

__all__ = ["IDLE", "OUTSIDE", "REASONS", "STOPPED", "UNKNOWN", "call_reasons", "reason_of"]

OUTSIDE: Final = -1
"""Blocked outside of system calls; `sched.c` says the same."""
STOPPED: Final = -2
"""Stopped by a signal or a debugger; `sched.c` says the same."""
UNKNOWN: Final = -3
"""In a system call that began before the thread was watched (only without registers)."""

REASONS: Final = (
    "futex",
    "io",
    "network",
    "ioctl",
    "memory",
    "stopped",
    "other",
    "poll",
    "sleep",
    "accept",
    "child",
    "signal",
)
"""Every value of `slatag.off_cpu.reason`."""

IDLE: Final = frozenset({"poll", "sleep", "accept", "child", "signal"})
"""The reasons that are waiting for work."""


def call_reasons(machine: str | None = None) -> dict[int, str]:
    """Return system call → reason on this machine's architecture, or the one that is named.

    `system_calls.csv` has the numbers of x86_64 and those that aarch64 and all later architectures share.
    """
    column = "x86_64" if (machine or platform.machine()) == "x86_64" else "generic"
    text = Path(__file__).with_name("system_calls.csv").read_text()
    rows = csv.DictReader(text.splitlines())
    return {int(row[column]): row["reason"] for row in rows if row[column]}


_HERE = call_reasons()


def reason_of(call: int) -> str:
    """Return one of `REASONS` for a system call's number, or for what `sched.c` says instead of one."""
    if call == OUTSIDE:
        return "memory"  # a page fault waits for a disk or for the address space's lock
    if call == STOPPED:
        return "stopped"
    return _HERE.get(call, "other")
