"""What GPM says of each card and MIG instance as readings: shares, cycles, rates that no counter tells."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from otel_attrib.collector.agent.source import Series, series
from otel_attrib.collector.sources import nvml_gpm as gpm
from otel_attrib.collector.sources.nvml_block import Gone
from otel_attrib.collector.sources.nvml_card import Card
from otel_attrib.collector.sources.nvml_columns import Columns, Named
from otel_attrib.collector.sources.nvml_gpm import APART_S, CYCLES, CYCLES_ACTIVE, METRICS, GpmBlock
from otel_attrib.collector.sources.nvml_library import Library
from otel_attrib.collector.sources.nvml_outputs import Outputs, capped

__all__ = ["Activity"]

Floats = NDArray[np.float64]

_MIB: Final = 1048576.0
_PERCENT: Final = 0.01
_FAR: Final = 0.05
_SHARES: Final = (
    ("graphics_activity", gpm.GRAPHICS),
    ("sm_occupancy", gpm.OCCUPANCY),
    ("tensor_activity", gpm.TENSOR),
    ("dram_activity", gpm.DRAM),
)


class Activity:
    """Samples of all cards and instances, compared with those before."""

    def __init__(self, library: Library, cards: Sequence[Card], now: float) -> None:
        """Take a first sample, at `now` seconds, of whatever has GPM."""
        self._then = now
        self._block, self._outputs = GpmBlock(library), Outputs()
        self._shares: list[tuple[Series, int, int, int]] = []
        for card in cards:
            if card.gpm:
                self._add(card, self._block.add(card.index, card.handle), card.device, whole=True)
            for part in card.instances:
                self._add(
                    card, self._block.add(card.index, card.handle, part.number), part.device, whole=False
                )
        self._block.seal()
        self._outputs.seal()
        self._named = Named([share for share, *_ in self._shares])
        places = np.array([place for _, *place in self._shares], dtype=np.intp).reshape(-1, 3)
        self._cycles, self._active, self._used = places.T
        self._before = np.full((2, len(places)), np.nan)

    def _add(self, card: Card, columns: slice | None, device: str, whole: bool) -> None:
        if columns is None:
            return
        at = {metric: columns.start + number for number, metric in enumerate(METRICS)}
        for key, metric in _SHARES:
            self._outputs.add(series(key, device), at[metric], _PERCENT)
        self._outputs.add(series("sm_cycles", device), at[CYCLES])
        self._outputs.add(series("sm_cycles_active", device), at[CYCLES_ACTIVE])
        self._shares.append((series("sm_activity", device), at[CYCLES], at[CYCLES_ACTIVE], at[gpm.SM]))
        if whole and not card.pcie_by_field:
            self._rate("pcie_receive", device, at[gpm.PCIE_IN], card.pcie_most)
            self._rate("pcie_transmit", device, at[gpm.PCIE_OUT], card.pcie_most)
        if whole and card.links.links and not card.nvlink_by_field:
            named = {"hw__gpu__interconnect__type": "nvlink"}
            self._rate("nvlink_receive", device, at[gpm.NVLINK_IN], card.links.most, **named)
            self._rate("nvlink_transmit", device, at[gpm.NVLINK_OUT], card.links.most, **named)

    def _rate(self, key: str, device: str, column: int, most: float, **named: str) -> None:
        self._outputs.add(capped(series(key, device, **named), most), column, _MIB)

    @property
    def gone(self) -> list[Gone]:
        """Cards that said that they are gone."""
        return self._block.gone

    def read(self, now: float) -> list[Columns]:
        """Return the shares since the last sample; nothing where that was less than 100 ms ago."""
        if not self._block.columns or now - self._then < APART_S:
            return []
        self._then = now
        self._block.read()
        shares = self._agreed()
        known = np.isfinite(shares)
        told = self._named.columns(shares, None if known.all() else known)
        return [self._outputs.columns(self._block), told]

    def _agreed(self) -> Floats:
        """SM activity by cycles, unless the card's percentage contradicts them: its unit is documented."""
        values = np.where(self._block.good, self._block.values, np.nan)
        counted, percent = values[[self._cycles, self._active]], values[self._used] * _PERCENT
        (cycles, active), self._before = counted - self._before, counted
        cycles[~((cycles > 0) & (active >= 0))] = np.nan
        shares = active / cycles
        return np.where(np.isfinite(shares) & ~(np.abs(shares - percent) > _FAR), shares, percent)

    def close(self) -> None:
        """Free the samples."""
        self._block.close()
