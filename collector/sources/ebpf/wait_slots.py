"""The kernel's histogram of single waits: four slots for every doubling, as `slot_of` in `sched.c` fills it.

A slot's bounds lie a quarter of an octave apart, so a quantile read from it is off by 12.5 % at most.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["SLOTS", "middles_ns", "quantile_ns", "slot_of"]

_PER_OCTAVE: Final = 4
SLOTS: Final = 160

Counts = NDArray[np.uint64]


def slot_of(ns: int) -> int:
    """Return the slot of one wait: what the kernel does, once more."""
    if ns < _PER_OCTAVE:
        return ns
    octave = ns.bit_length() - 1
    return min(SLOTS - 1, (octave - 1) * _PER_OCTAVE + (ns >> (octave - 2) & (_PER_OCTAVE - 1)))


def middles_ns() -> NDArray[np.float64]:
    """Return the middle of each slot in ns."""
    slots = np.arange(SLOTS)
    width = 2.0 ** np.maximum(0, slots // _PER_OCTAVE - 1)
    low = np.where(slots < _PER_OCTAVE, slots, (_PER_OCTAVE + slots % _PER_OCTAVE) * width)
    return low + (width - 1) / 2  # of whole ns: a slot of one value is that value


_MIDDLES: Final = middles_ns()


def quantile_ns(counts: Counts, share: float) -> float | None:
    """Return the wait below which `share` of them lie, within 12.5 %; None when none was counted."""
    reached = np.cumsum(counts)
    if not len(reached) or not reached[-1]:
        return None
    return float(_MIDDLES[int(np.searchsorted(reached, share * float(reached[-1])))])
