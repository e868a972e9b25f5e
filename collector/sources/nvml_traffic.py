"""Bytes over links: cumulative ones as the card counts them, and the rate between two reads.

One group is one device and direction: a single counter (PCIe) or one for each link (NVLink), whose rate is
the sum. A link that does not answer (it is down) carries nothing; a counter of which nothing is known leaves
the whole group without a rate.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from otel_attrib.collector.agent.source import Series
from otel_attrib.collector.sources.nvml_block import FieldBlock
from otel_attrib.collector.sources.nvml_columns import Columns, Named
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
        self._told = np.array([rate is not None for rate in self._rates], dtype=np.bool_)
        self._named = Named(self._totals)
        self._named_rates = Named([rate for rate in self._rates if rate is not None])
        self._first = True
        self._plan = -1
        self._wide: Flags | None = None

    def columns(self, now: float, block: FieldBlock) -> list[Columns]:
        """Return totals and rates of the block's last read, taken at `now` seconds."""
        if not self._columns:
            return []
        if self._plan != block.plans:
            self._plan, own = block.plans, block.wide[self._at]
            self._wide = None if own.all() else own
        wide = self._wide
        good = None if block.whole else block.good[self._at]
        grown = self._growth.step(now, block.values[self._at], wide, good)
        out = [self._named.columns(self._growth.totals * self._factor, self._kept(grown, wide, good))]
        if not self._first and self._told.any():
            out.append(self._rate_columns(grown, good))
        self._first = False
        return out

    def _kept(self, grown: Floats, wide: Flags | None, good: Flags | None) -> Flags | None:
        """Which totals hold: a counter of 32 bits of which nothing is known has none."""
        if wide is None or self._first or self._growth.whole:
            return good
        known = wide | np.isfinite(grown)
        return known if good is None else known & good

    def _rate_columns(self, grown: Floats, good: Flags | None) -> Columns:
        each = self._growth.rates(grown) * self._factor
        if self._growth.whole:
            sums = np.add.reduceat(each, self._starts)
            return self._named_rates.columns(sums if self._told.all() else sums[self._told])
        known = np.isfinite(each)
        sums = np.add.reduceat(np.where(known, each, 0.0), self._starts)
        fit = known if good is None else known | ~good
        clear = np.logical_and.reduceat(fit, self._starts) & np.logical_or.reduceat(known, self._starts)
        return self._named_rates.columns(sums[self._told], clear[self._told])
