"""Why a thread blocked, by the system call it was in: is it kept waiting, or does it wait for work?

A *hindrance* is time that delays what the thread has begun. *Idle* is waiting for something to do: it grows
when there is less load. A futex is a hindrance although a pool's threads wait for work on one as well: the
kernel cannot tell a lock from a queue.
"""

import platform
from collections.abc import Mapping
from types import MappingProxyType
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

# Numbers of arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h.
_X86_64: Final = {
    # futex, futex_waitv, futex_wait; System V semaphores
    "futex": (202, 449, 455, 65, 220),
    # read, write, open, stat, fstat, lstat, pread, pwrite, readv, writev, sendfile, fsync, fdatasync, truncate,
    # ftruncate, getdents, rename, mkdir, unlink, sync, io_getevents, getdents64, openat, newfstatat, unlinkat,
    # renameat, splice, tee, sync_file_range, vmsplice, fallocate, preadv, pwritev, syncfs, copy_file_range,
    # preadv2, pwritev2, statx, io_pgetevents, io_uring_enter, openat2, close, flock, fcntl
    "io": (0, 1, 2, 4, 5, 6, 17, 18, 19, 20, 40, 74, 75, 76, 77, 78, 82, 83, 87, 162, 208, 217, 257, 262, 263)
    + (264, 275, 276, 277, 278, 285, 295, 296, 306, 326, 327, 328, 332, 333, 426, 437, 3, 73, 72),
    # connect, sendto, recvfrom, sendmsg, recvmsg, recvmmsg, sendmmsg
    "network": (42, 44, 45, 46, 47, 299, 307),
    "ioctl": (16,),
    # mmap, mprotect, munmap, brk, mremap, msync, madvise; process_vm_readv, process_vm_writev
    "memory": (9, 10, 11, 12, 25, 26, 28, 310, 311),
    # poll, select, epoll_wait, pselect6, ppoll, epoll_pwait, epoll_pwait2
    "poll": (7, 23, 232, 270, 271, 281, 441),
    "sleep": (35, 230),
    "accept": (43, 288),
    "child": (61, 247),
    # pause, rt_sigtimedwait, rt_sigsuspend
    "signal": (34, 128, 130),
}
_GENERIC: Final = {
    "futex": (98, 449, 455, 192, 193),
    "io": (57, 61, 56, 63, 64, 65, 66, 67, 68, 69, 70, 71, 75, 76, 77, 79, 80, 81, 82, 83, 84, 25, 32, 34, 35)
    + (38, 45, 46, 47, 4, 267, 276, 285, 286, 287, 291, 292, 426, 437),
    "network": (203, 206, 207, 211, 212, 243, 269),
    "ioctl": (29,),
    "memory": (214, 215, 216, 222, 226, 227, 233, 270, 271),
    "poll": (22, 72, 73, 441),
    "sleep": (101, 115),
    "accept": (202, 242),
    "child": (95, 260),
    "signal": (133, 137),
}


def call_reasons(machine: str | None = None) -> Mapping[int, str]:
    """Return system call → reason on this machine's architecture, or the one that is named."""
    table = _X86_64 if (machine or platform.machine()) == "x86_64" else _GENERIC
    return MappingProxyType({call: reason for reason, calls in table.items() for call in calls})


_HERE = call_reasons()


def reason_of(call: int) -> str:
    """Return one of `REASONS` for a system call's number, or for what `sched.c` says instead of one."""
    if call == OUTSIDE:
        return "memory"  # a page fault waits for a disk or for the address space's lock
    if call == STOPPED:
        return "stopped"
    return _HERE.get(call, "other")
