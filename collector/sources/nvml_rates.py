"""Rates of counters that only grow: between two reads, in the counter's unit per second.

A counter of 32 bits wraps: one wrap is added back as long as the link cannot have wrapped it twice in the
time between the reads (at 63 GB/s, PCIe 5.0 × 16, it wraps every 68 ms); where it could, nothing is known of
that time and nothing is said. A counter of 64 bits that falls was restarted (driver reloaded, card reset):
that time has no rate either.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["Growth"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_WRAP: Final = float(2**32)


class Growth:
    """n counters from read to read: how much they grew, over how many seconds, and their unwrapped totals."""

    def __init__(self, capacity: Floats) -> None:
        """Take (n,) the most that each can grow in one second, infinite where that is not known."""
        self._capacity = capacity
        self._before: Floats | None = None
        self._then = 0.0
        self.seconds = 0.0
        self.whole = False
        """All growth of the last step is known."""
        self.totals = np.zeros(capacity.size)
        """(n,) totals, as the card counts them where it has 64 bits, else from the first read on."""

    def step(
        self, now: float, numbers: Floats, wide: Flags | None = None, good: Flags | None = None
    ) -> Floats:
        """Return (n,) growth since the last step, NaN where it is not known; `now` in seconds.

        `wide` None: all have 64 bits; `good` None: all were answered.
        """
        before, self.whole = self._before, False
        self._before = numbers if good is None else np.where(good, numbers, np.nan)
        self.seconds, self._then = now - self._then, now
        if before is None:
            self.totals = numbers if wide is None else np.where(wide, numbers, 0.0)
            return np.full(numbers.size, np.nan)
        grown = self._before - before
        if wide is None:
            self.totals = numbers
            self.whole = bool((grown >= 0).all())
            if not self.whole:
                grown[grown < 0] = np.nan
            return grown
        return self._wrapped(numbers, grown, wide)

    def _wrapped(self, numbers: Floats, grown: Floats, wide: Flags) -> Floats:
        unclear = ~wide & ~(self._capacity * self.seconds < _WRAP)
        grown = np.where((grown < 0) & ~wide, grown + _WRAP, grown)
        grown[unclear | (grown < 0)] = np.nan
        known = np.isfinite(grown)
        self.whole = bool(known.all())
        self.totals = np.where(wide, numbers, np.where(known, self.totals + np.where(known, grown, 0.0), 0.0))
        return grown

    def rates(self, grown: Floats) -> Floats:
        """Return growth per second."""
        return grown / self.seconds if self.seconds > 0 else np.full(grown.size, np.nan)
