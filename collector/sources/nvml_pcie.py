"""PCIe of cards that count no bytes: the card's own 20 ms sample of its traffic."""

import ctypes
from collections.abc import Sequence
from typing import Final

from otel_attrib.collector.agent.source import series
from otel_attrib.collector.sources.nvml_calls import Calls
from otel_attrib.collector.sources.nvml_card import Card
from otel_attrib.collector.sources.nvml_library import Library
from otel_attrib.collector.sources.nvml_outputs import capped

__all__ = ["PcieSamples"]

_WAYS: Final = (("pcie_transmit", 0), ("pcie_receive", 1))
_KILO: Final = 1000.0


class PcieSamples(Calls):
    """Cards without byte counters and without GPM: each call takes 20 ms, so it is made seldom."""

    def __init__(self, library: Library, cards: Sequence[Card]) -> None:
        """Read those cards that have no other way."""
        super().__init__(library, [card for card in cards if not card.pcie_by_field and not card.gpm])

    def _add_card(self, card: Card) -> None:
        for key, way in _WAYS:
            column = self._number(card, "nvmlDeviceGetPcieThroughput", (ctypes.c_uint(way),))
            if column is not None:
                self._outputs.add(capped(series(key, card.device), card.pcie_most), column, _KILO)
