"""What a card's plain calls say: use, memory, clocks, temperature, clocks-event reasons, PCIe; limits."""

import ctypes
from collections.abc import Sequence
from typing import Final

import numpy as np

from otel_attrib.collector.agent.source import Series, series
from otel_attrib.collector.sources.nvml_calls import Calls
from otel_attrib.collector.sources.nvml_card import Card, throttle_fields
from otel_attrib.collector.sources.nvml_columns import Columns, Named
from otel_attrib.collector.sources.nvml_library import Library
from otel_attrib.collector.sources.nvml_throttle import HELD_DOWN

__all__ = ["Clocks", "Levels", "Limits"]

_GRAPHICS_SENSOR: Final = 0
_TEMPERATURE_V1: Final = 0x0100000C
"""Version of the structure, its size in it; older bindings do not name it."""
_SM, _MEMORY = 1, 2
_PERCENT: Final = 0.01
_MILLI: Final = 0.001


class Clocks(Calls):
    """What changes within a request: the SM clock and what holds it down."""

    def __init__(self, library: Library, cards: Sequence[Card]) -> None:
        """Ask each card once for everything; keep what it answers."""
        self._sampled: list[tuple[Series, int]] = []
        super().__init__(library, cards)
        self._shares = Named([share for share, _ in self._sampled])

    def read(self, now: float) -> list[Columns]:
        """Return what all cards say; that clocks are held down is sampled where no counter tells it."""
        told = super().read(now)
        if self._sampled:
            at = [column for _, column in self._sampled]
            bits = self._block.values[at].astype(np.uint64)
            shares = ((bits & np.uint64(HELD_DOWN)) != 0).astype(np.float64)
            told.append(self._shares.columns(shares, self._block.good[at]))
        return told

    def _add_card(self, card: Card) -> None:
        self._out(card, "gpu_clock", self._number(card, "nvmlDeviceGetClockInfo", (ctypes.c_uint(_SM),)))
        names = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
        found = (column for name in names if (column := self._number(card, name, wide=True)) is not None)
        column = next(found, None)
        self._out(card, "gpu_clock_reasons", column)
        if column is not None and not throttle_fields(card):
            self._sampled.append((series("gpu_throttled", card.device), column))


class Levels(Calls):
    """What a card says of the last second: use, memory, temperature, memory clock, PCIe link."""

    def _add_card(self, card: Card) -> None:
        self._use(card)
        self._memory(card, card.handle, card.device, [("gpu_memory_used", 1)])
        for instance in card.instances:
            self._memory(card, instance.handle, instance.device, [("gpu_memory_used", 1)])
        clock = self._number(card, "nvmlDeviceGetClockInfo", (ctypes.c_uint(_MEMORY),))
        self._out(card, "memory_clock", clock)
        self._temperature(card)
        self._power(card)
        self._out(card, "pcie_generation", self._number(card, "nvmlDeviceGetCurrPcieLinkGeneration"))
        self._out(card, "pcie_width", self._number(card, "nvmlDeviceGetCurrPcieLinkWidth"))

    def _use(self, card: Card) -> None:
        """Time in which any kernel ran: not the use of the SMs."""
        found = self._structure(card, "nvmlDeviceGetUtilizationRates", [(0, False), (1, False)], 2)
        for key, column in zip(("gpu_utilization", "memory_controller"), found or (), strict=False):
            self._out(card, key, column, _PERCENT)

    def _temperature(self, card: Card) -> None:
        found = self._structure(
            card, "nvmlDeviceGetTemperatureV", [(2, False)], 3, (_TEMPERATURE_V1, _GRAPHICS_SENSOR)
        )
        column = (
            found[0]
            if found
            else self._number(card, "nvmlDeviceGetTemperature", (ctypes.c_uint(_GRAPHICS_SENSOR),))
        )
        self._out(card, "gpu_temperature", column)

    def _power(self, card: Card) -> None:
        """What is missing among the fields: power over the last second, energy."""
        if (186, 0) not in card.answers:
            self._out(card, "gpu_power", self._number(card, "nvmlDeviceGetPowerUsage"), _MILLI)
        if (83, 0) not in card.answers:
            column = self._number(card, "nvmlDeviceGetTotalEnergyConsumption", wide=True)
            self._out(card, "gpu_energy", column, _MILLI)


class Limits(Calls):
    """What seldom changes: highest clock and link, power limit, memory; error counts that no field tells."""

    def _add_card(self, card: Card) -> None:
        for key, name, before, factor in (
            ("gpu_clock_max", "nvmlDeviceGetMaxClockInfo", (ctypes.c_uint(_SM),), 1.0),
            ("gpu_power_limit", "nvmlDeviceGetEnforcedPowerLimit", (), _MILLI),
            ("pcie_generation_max", "nvmlDeviceGetMaxPcieLinkGeneration", (), 1.0),
            ("pcie_width_max", "nvmlDeviceGetMaxPcieLinkWidth", (), 1.0),
        ):
            self._out(card, key, self._number(card, name, before), factor)
        named = {"slatag__gpu__uuid": card.uuid, "hw__name": card.name}
        self._memory(card, card.handle, card.device, [("gpu_memory_limit", 0)], **named)
        for part in card.instances:
            named = {"slatag__gpu__uuid": part.uuid, "hw__name": card.name}
            self._memory(card, part.handle, part.device, [("gpu_memory_limit", 0)], **named)
        self._errors(card)

    def _errors(self, card: Card) -> None:
        """Volatile ECC counts by call, where the fields (3, 4) are not answered; replays likewise (94)."""
        for key, field, kind in (("remapped_rows", 3, 0), ("ecc_errors", 4, 1)):
            if (field, 0) in card.answers:
                continue
            before = (ctypes.c_uint(kind), ctypes.c_uint(0))
            self._out(card, key, self._number(card, "nvmlDeviceGetTotalEccErrors", before, wide=True))
        if (94, 0) not in card.answers:
            self._out(card, "pcie_replays", self._number(card, "nvmlDeviceGetPcieReplayCounter"))
