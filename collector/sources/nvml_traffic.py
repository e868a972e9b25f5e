"""Bytes over links: cumulative ones as the card counts them, and the rate between two reads.

One group is one device and direction: a single counter (PCIe) or one for each link (NVLink), whose rate is
the sum. A link that does not answer (it is down) carries nothing; a counter of which nothing is known leaves
the whole group without a rate.
"""

from collections.abc import Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from otel_attrib.collector.agent.source import Reading, Series
from otel_attrib.collector.sources.nvml_block import Block
from otel_attrib.collector.sources.nvml_outputs import capped
from otel_attrib.collector.sources.nvml_rates import Growth

__all__ = ["Traffic"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Traffic:
    """Groups of byte counters in one block."""

    def __init__(self) -> None:
        """Start without groups."""
        self._columns: list[int] = []
        self._factors: list[float] = []
        self._capacity: list[float] = []
        self._starts: list[int] = []
        self._totals: list[Series] = []
        self._rates: list[Series | None] = []

    def add(
        self,
        columns: Sequence[int],
        totals: Sequence[Series],
        rate: Series | None,
        factor: float,
        most: float,
    ) -> None:
        """Add a group: `factor` bytes a count, `most` bytes per second in all; `rate` None gives no rate."""
        self._starts.append(len(self._columns))
        self._columns += columns
        self._totals += totals
        self._factors += [factor] * len(columns)
        self._capacity += [most / factor] * len(columns)
        self._rates.append(None if rate is None else capped(rate, most))

    def seal(self) -> None:
        """Fix the groups; nothing may be added after."""
        self._at = np.array(self._columns, dtype=np.intp)
        self._factor = np.array(self._factors)
        self._growth = Growth(np.array(self._capacity))
        self._first = True

    def readings(self, now: float, block: Block, wide: Flags) -> list[Reading]:
        """Return totals and rates of the block's last read, taken at `now` seconds."""
        if not self._columns:
            return []
        good, wide = block.good[self._at], wide[self._at]
        grown = self._growth.step(now, block.values[self._at], wide, good)
        known = np.isfinite(grown)
        told = good & (wide | known | self._first)
        totals = zip(self._totals, (self._growth.totals * self._factor).tolist(), strict=True)
        out = list(totals if told.all() else compress(totals, told.tolist()))
        if not self._first:
            out += self._told_rates(grown, known, good)
        self._first = False
        return out

    def _told_rates(self, grown: Floats, known: Flags, good: Flags) -> list[Reading]:
        each = np.where(known, self._growth.rates(grown) * self._factor, 0.0)
        sums = np.add.reduceat(each, self._starts)
        some = np.logical_or.reduceat(known, self._starts)
        clear = np.logical_and.reduceat(known | ~good, self._starts) & some
        told = zip(self._rates, sums.tolist(), clear.tolist(), strict=True)
        return [(rate, value) for rate, value, known_all in told if rate is not None and known_all]
