"""A uprobe as a file descriptor: the kernel removes it when it is closed, and so when the agent dies.

Opened through `perf_event_open` (Linux 4.17 and newer) rather than through bcc: no name has to be resolved
again to detach, which fails once the process that mapped the library is gone.
"""

import ctypes
import fcntl
import os
import platform
from pathlib import Path

from otel_attrib.collector.agent.source import Unavailable

__all__ = ["open_uprobe"]

_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
_CLOSE_ON_EXEC = 8
_SET_BPF, _ENABLE = 0x40042408, 0x2400
_PMU = Path("/sys/bus/event_source/devices/uprobe")


class _Attributes(ctypes.Structure):
    """`struct perf_event_attr` as of its version 5, which every kernel with uprobe events knows."""

    _fields_ = (
        ("type", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("config", ctypes.c_uint64),
        ("sample_period", ctypes.c_uint64),
        ("sample_type", ctypes.c_uint64),
        ("read_format", ctypes.c_uint64),
        ("flags", ctypes.c_uint64),
        ("wakeup_events", ctypes.c_uint32),
        ("bp_type", ctypes.c_uint32),
        ("path", ctypes.c_uint64),
        ("offset", ctypes.c_uint64),
        ("rest", ctypes.c_uint64 * 5),
    )


def open_uprobe(path: Path, offset: int, program: int, returning: bool) -> int:
    """Run a BPF program at an offset of a file, or at the return of the function there; close to end it."""
    event = _open_event(path, offset, returning)
    try:
        fcntl.ioctl(event, _SET_BPF, program)
        fcntl.ioctl(event, _ENABLE, 0)
    except OSError:
        os.close(event)
        raise
    return event


def _open_event(path: Path, offset: int, returning: bool) -> int:
    number = _PERF_EVENT_OPEN.get(platform.machine())
    if number is None or not _PMU.exists():
        raise Unavailable("this kernel has no uprobe events (Linux 4.17 on x86-64 or arm64 has)")
    name = ctypes.create_string_buffer(os.fsencode(path))
    asked = _Attributes(
        type=int((_PMU / "type").read_text()),
        size=ctypes.sizeof(_Attributes),
        config=_return_bit() if returning else 0,
        sample_period=1,
        wakeup_events=1,
        path=ctypes.addressof(name),
        offset=offset,
    )
    # One event of one CPU is enough: a program runs wherever the breakpoint is met.
    system = ctypes.CDLL(None, use_errno=True).syscall
    event = int(system(number, ctypes.byref(asked), -1, 0, -1, ctypes.c_ulong(_CLOSE_ON_EXEC)))
    if event < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(path))
    return event


def _return_bit() -> int:
    place = (_PMU / "format/retprobe").read_text().strip()
    return 1 << int(place.removeprefix("config:"))
