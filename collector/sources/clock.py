"""How far this node's clock may be off, as its kernel says: adjtimex(2), which needs no privilege to read.

The time daemon tells the kernel its error bound (`maxerror`) and estimate (`esterror`); the kernel lets the
bound grow by 500 µs a second until the next word. Where nobody has told it anything the state is
*unsynchronized* and the bound is 16 s, which says that the bound is unknown, not that the clock is wrong.
"""

import ctypes
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from otel_attrib.collector.agent.source import Reading, Unavailable, series

__all__ = ["Clock", "KernelClock", "read_kernel_clock"]

_UNSYNCHRONIZED: Final = 0x40  # STA_UNSYNC of <sys/timex.h>
_STATES: Final = ("synchronized", "unsynchronized")


class _Timex(ctypes.Structure):
    """`struct timex` of <sys/timex.h>, with room for what follows the fields that are read."""

    _fields_ = [
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_char * 256),
    ]


@dataclass(frozen=True, slots=True)
class KernelClock:
    """What the kernel says of its clock, in seconds."""

    synchronized: bool
    most: float
    estimated: float


def read_kernel_clock() -> KernelClock:
    """Ask the kernel; OSError where a sandbox forbids it."""
    library = ctypes.CDLL(None, use_errno=True)
    told = _Timex(modes=0)
    if library.adjtimex(ctypes.byref(told)) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return KernelClock(not told.status & _UNSYNCHRONIZED, told.maxerror / 1e6, told.esterror / 1e6)


class Clock:
    """The bound and the estimate of the clock's error, under the state that it is in."""

    name = "clock"
    every_s = 10.0

    def __init__(self, ask: Callable[[], KernelClock] = read_kernel_clock) -> None:
        """Ask once, to know that it can be asked."""
        try:
            ask()
        except (OSError, AttributeError) as fault:
            raise Unavailable(f"the kernel does not say how far its clock is off: {fault}") from fault
        self._ask = ask
        self._most, self._estimated = (
            {state: series(key, slatag__clock__state=state) for state in _STATES}
            for key in ("clock_uncertainty", "clock_estimated_error")
        )

    def read(self) -> Iterable[Reading]:
        """Return both in seconds; where nothing is known the bound is the kernel's 16 s."""
        told = self._ask()
        state = _STATES[0 if told.synchronized else 1]
        return ((self._most[state], told.most), (self._estimated[state], told.estimated))

    def close(self) -> None:
        """Nothing is held."""
