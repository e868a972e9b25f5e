"""Why a thread blocked, by the system call it was in, and what that says of the host.

Waiting for a disk or for memory is the host's doing. *Idle* is waiting for something to do: it grows when
there is less load. Of the rest the kernel cannot tell whose it is: a futex is a lock or an empty queue, an
ioctl waits for the card as long as the card takes, a send for the reader. That is kept and shown, and speaks
for no layer.
"""

import csv
import platform
from pathlib import Path
from typing import Final

__all__ = ["IDLE", "OUTSIDE", "REASONS", "STOPPED", "UNKNOWN", "call_reasons", "counter_of", "reason_of"]

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

_OF_THE_HOST: Final = frozenset({"io", "memory"})


def call_reasons(machine: str | None = None) -> dict[int, str]:
    """Return system call → reason on this machine's architecture, or the one that is named.

    `system_calls.csv` has the numbers of x86_64 and those that aarch64 and all later architectures share.
    """
    column = "x86_64" if (machine or platform.machine()) == "x86_64" else "generic"
    text = Path(__file__).with_name("system_calls.csv").read_text()
    rows = csv.DictReader(text.splitlines())
    return {int(row[column]): row["reason"] for row in rows if row[column]}


_HERE = call_reasons()


def counter_of(reason: str) -> str:
    """Return the counter that a reason's time belongs to: `off_cpu`, `idle_wait` or `blocked_wait`."""
    if reason in _OF_THE_HOST:
        return "off_cpu"
    return "idle_wait" if reason in IDLE else "blocked_wait"


def reason_of(call: int) -> str:
    """Return one of `REASONS` for a system call's number, or for what `sched.c` says instead of one."""
    if call == OUTSIDE:
        return "memory"  # a page fault waits for a disk or for the address space's lock
    if call == STOPPED:
        return "stopped"
    return _HERE.get(call, "other")
