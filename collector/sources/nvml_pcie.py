"""What a PCIe link can carry; and, for cards that count no bytes, the card's own 20 ms sample of its traffic.

Per direction and lane: transfers per second times the share of bits that are data (8b/10b up to 2.0,
128b/130b to 5.0, 242/256 of a flit from 6.0 on), from the PCI-SIG's base specifications.
"""

import ctypes
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from otel_attrib.collector.agent.source import series
from otel_attrib.collector.sources.nvml_block import CallBlock, Gone
from otel_attrib.collector.sources.nvml_columns import Columns
from otel_attrib.collector.sources.nvml_library import Library
from otel_attrib.collector.sources.nvml_outputs import Outputs, capped

if TYPE_CHECKING:
    from otel_attrib.collector.sources.nvml_card import Card

__all__ = ["LANE_BYTES", "PcieSamples", "link_bytes"]

LANE_BYTES: Final[Mapping[int, float]] = MappingProxyType(
    {
        1: 2.5e9 * 8 / 10 / 8,
        2: 5e9 * 8 / 10 / 8,
        3: 8e9 * 128 / 130 / 8,
        4: 16e9 * 128 / 130 / 8,
        5: 32e9 * 128 / 130 / 8,
        6: 64e9 * 242 / 256 / 8,
        7: 128e9 * 242 / 256 / 8,
    }
)
"""Generation → bytes per second of one lane in one direction."""

_KILO: Final = 1000.0


def link_bytes(generation: float, width: float) -> float:
    """Return the most bytes per second in one direction; infinite where either is not known."""
    return LANE_BYTES.get(int(generation), float("inf")) * width if width else float("inf")


class PcieSamples:
    """Cards without byte counters and without GPM: each call takes 20 ms, so it is made seldom."""

    def __init__(self, library: Library, cards: "Sequence[Card]") -> None:
        """Read those cards that have no other way."""
        wanted = [card for card in cards if not card.pcie_by_field and not card.gpm]
        self._block, self._outputs = CallBlock(len(wanted)), Outputs()
        function = library.function("nvmlDeviceGetPcieThroughput")
        for card in wanted if function is not None else ():
            for key, direction in (("pcie_transmit", 0), ("pcie_receive", 1)):
                reference, place = self._block.room(2)
                arguments = (card.handle, ctypes.c_uint(direction), reference)
                if function is not None and function(*arguments) == 0:
                    column = self._block.column(place, wide=False)
                    self._block.add(card.index, function, arguments, [column])
                    self._outputs.add(capped(series(key, card.device), card.pcie_most), column, _KILO)
        self._block.seal()
        self._outputs.seal()

    @property
    def gone(self) -> list[Gone]:
        """Cards that said that they are gone."""
        return self._block.gone

    def read(self, now: float) -> list[Columns]:
        """Return the samples; `now` is not needed: the card takes them while it is asked."""
        self._block.read()
        return [self._outputs.columns(self._block)]

    def close(self) -> None:
        """Nothing is held open."""
