"""Hang a loaded program on a tracepoint or on a function of a library, by perf_event_open(2) or bpf(2).

What is attached stays while the returned file is open and is gone when it is closed, however this process
ends.
"""

import ctypes
import os
import platform
import struct
from fcntl import ioctl
from pathlib import Path
from typing import Final

__all__ = ["attach_raw_tracepoint", "attach_tracepoint", "attach_uprobe"]

_SYSCALL: Final = {"x86_64": 298, "aarch64": 241}
_BPF: Final = {"x86_64": 321, "aarch64": 280}
_RAW_TRACEPOINT_OPEN: Final = 17
_TRACEPOINT: Final = 2
_ENABLE, _SET_BPF = 0x2400, 0x40042408
_CLOSE_ON_EXEC: Final = 8
_ATTRIBUTES: Final = struct.Struct("=IIQQQQQIIQQ40x")  # struct perf_event_attr, its first 112 bytes
_UPROBE: Final = Path("sys/bus/event_source/devices/uprobe")
_libc: Final = ctypes.CDLL(None, use_errno=True)


def attach_tracepoint(events: Path, tracepoint: str, program: int) -> int:
    """Run `program` at a tracepoint ("sched:sched_switch") everywhere; `events` is tracefs' folder."""
    number = int((events / tracepoint.replace(":", "/") / "id").read_text())
    return _attach(_open(_TRACEPOINT, number, 0, 0, -1), program)


def attach_raw_tracepoint(tracepoint: str, program: int) -> int:
    """Run `program` at a tracepoint ("sched_switch") with the kernel's own arguments.

    Unlike those of `attach_tracepoint`, its events are never lost: those are left out on a processor where
    another program runs, or where a task that reads a map has been preempted.
    """
    name = ctypes.create_string_buffer(tracepoint.encode())
    packed = struct.pack("=QI4x", ctypes.addressof(name), program)
    attributes = ctypes.create_string_buffer(packed, len(packed))
    fd: int = _libc.syscall(
        _BPF[platform.machine()], _RAW_TRACEPOINT_OPEN, ctypes.byref(attributes), len(packed)
    )
    if fd < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return fd


def attach_uprobe(
    library: Path,
    offset: int,
    program: int,
    *,
    at_return: bool = False,
    pid: int = -1,
    root: Path = Path("/"),
) -> int:
    """Run `program` at the function that lies at `offset` of the file, or when it returns.

    Every process that has the file mapped is seen, those that start later too, unless `pid` names one.
    """
    kind = int((root / _UPROBE / "type").read_text())
    path = ctypes.create_string_buffer(os.fsencode(library))
    return _attach(_open(kind, int(at_return), ctypes.addressof(path), offset, pid), program)


def _open(kind: int, config: int, config1: int, config2: int, pid: int) -> int:
    packed = _ATTRIBUTES.pack(kind, _ATTRIBUTES.size, config, 1, 0, 0, 0, 1, 0, config1, config2)
    attributes = ctypes.create_string_buffer(packed, len(packed))
    cpu = 0 if pid < 0 else -1
    fd: int = _libc.syscall(
        _SYSCALL[platform.machine()], ctypes.byref(attributes), pid, cpu, -1, _CLOSE_ON_EXEC
    )
    if fd < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return fd


def _attach(event: int, program: int) -> int:
    try:
        ioctl(event, _SET_BPF, program)
        ioctl(event, _ENABLE, 0)
    except OSError:
        os.close(event)
        raise
    return event
