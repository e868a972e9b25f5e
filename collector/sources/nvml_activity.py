"""What GPM says of each card and MIG instance as readings: shares, cycles, rates that no counter tells."""

from collections.abc import Sequence
from typing import Final

from otel_attrib.collector.agent.source import Reading, Series, series
from otel_attrib.collector.sources import nvml_gpm as gpm
from otel_attrib.collector.sources.nvml_block import Gone
from otel_attrib.collector.sources.nvml_card import Card
from otel_attrib.collector.sources.nvml_gpm import APART_S, CYCLES, CYCLES_ACTIVE, METRICS, GpmBlock
from otel_attrib.collector.sources.nvml_library import Library
from otel_attrib.collector.sources.nvml_outputs import Outputs, capped

__all__ = ["Activity"]

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
        self._cycles: list[tuple[Series, int, int, int]] = []
        self._last: dict[int, tuple[float, float]] = {}
        for card in cards:
            if card.gpm:
                self._add(card, self._block.add(card.index, card.handle), card.device, whole=True)
            for part in card.instances:
                self._add(
                    card, self._block.add(card.index, card.handle, part.number), part.device, whole=False
                )
        self._block.seal()
        self._outputs.seal()

    def _add(self, card: Card, columns: slice | None, device: str, whole: bool) -> None:
        if columns is None:
            return
        at = {metric: columns.start + number for number, metric in enumerate(METRICS)}
        for key, metric in _SHARES:
            self._outputs.add(series(key, device), at[metric], _PERCENT)
        self._outputs.add(series("sm_cycles", device), at[CYCLES])
        self._outputs.add(series("sm_cycles_active", device), at[CYCLES_ACTIVE])
        self._cycles.append((series("sm_activity", device), at[CYCLES], at[CYCLES_ACTIVE], at[gpm.SM]))
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

    def read(self, now: float) -> list[Reading]:
        """Return the shares since the last sample; nothing where that was less than 100 ms ago."""
        if not self._block.columns or now - self._then < APART_S:
            return []
        self._then = now
        self._block.read()
        told = list(self._outputs.readings(self._block))
        values, good = self._block.values, self._block.good
        for share, cycles, active, used in self._cycles:
            counted = good[cycles] and good[active]
            grown = self._grown(cycles, float(values[cycles]), float(values[active])) if counted else None
            number = _agreed(grown, float(values[used]) * _PERCENT if good[used] else None)
            if number is not None:
                told.append((share, number))
        return told

    def _grown(self, place: int, cycles: float, active: float) -> float | None:
        """Share of the cycles since the last sample in which an SM had a warp; None after a restart."""
        before = self._last.get(place)
        self._last[place] = (cycles, active)
        if before is None or cycles <= before[0] or active < before[1]:
            return None
        return (active - before[1]) / (cycles - before[0])

    def close(self) -> None:
        """Free the samples."""
        self._block.close()


def _agreed(by_cycles: float | None, told: float | None) -> float | None:
    """The cycles' share, unless the card's own percentage contradicts it: that one's unit is documented."""
    if by_cycles is None or (told is not None and abs(by_cycles - told) > _FAR):
        return told
    return by_cycles
