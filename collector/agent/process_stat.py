"""One line of `/proc/<pid>/stat`: who its parent is, when it began, and what it has used so far.

The numbers count for the whole process with the threads that have ended (`fs/proc/array.c`), so they never
fall while it lives. `started_ticks` and the pid together name a process for good: a pid is used again.
"""

import os
from dataclasses import dataclass
from typing import Final

__all__ = ["TICKS_PER_SECOND", "ProcessStat", "parse_stat"]

TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")
_KERNEL_THREAD: Final = 0x00200000  # PF_KTHREAD, include/linux/sched.h


@dataclass(frozen=True, slots=True)
class ProcessStat:
    """What is used of the line; times are in clock ticks, `started_ticks` counts from boot."""

    name: str
    parent: int
    kernel_thread: bool
    minor_faults: int
    major_faults: int
    user_ticks: int
    system_ticks: int
    threads: int
    started_ticks: int
    processor: int


def parse_stat(line: bytes) -> ProcessStat:
    """Parse one line; ValueError or IndexError where it is not one."""
    # The name stands in brackets and may hold brackets and spaces itself.
    head, _, tail = line.rpartition(b")")
    words = tail.split()
    return ProcessStat(
        name=head.partition(b"(")[2].decode(errors="replace"),
        parent=int(words[1]),
        kernel_thread=bool(int(words[6]) & _KERNEL_THREAD),
        minor_faults=int(words[7]),
        major_faults=int(words[9]),
        user_ticks=int(words[11]),
        system_ticks=int(words[12]),
        threads=int(words[17]),
        started_ticks=int(words[19]),
        processor=int(words[36]),
    )
