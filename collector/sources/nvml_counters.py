"""What the cards count themselves, in one batch of field values: throttle times, PCIe, energy, errors.

`Counters` holds what tells of a request's own time and is read often; `Health` what is a fault when it moves.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from otel_attrib.collector.agent.source import series
from otel_attrib.collector.sources.nvml_block import FieldBlock, Gone
from otel_attrib.collector.sources.nvml_card import BYTES_IN, BYTES_OUT, Card, throttle_fields
from otel_attrib.collector.sources.nvml_columns import Columns
from otel_attrib.collector.sources.nvml_library import Library
from otel_attrib.collector.sources.nvml_outputs import Notices, Outputs
from otel_attrib.collector.sources.nvml_throttle import ThrottleTimes
from otel_attrib.collector.sources.nvml_traffic import Traffic

__all__ = ["Counters", "Health", "field_block"]

_LEVELS: Final = (("gpu_power", 186, 1e-3), ("gpu_energy", 83, 1e-3), ("gpu_memory_temperature", 82, 1.0))
"""Key, field, unit: milliwatts now, millijoules since the driver was loaded, degrees."""

_ERRORS: Final = (
    ("remapped_rows", 3),
    ("ecc_errors", 4),
    ("pcie_replays", 94),
    ("pcie_recoveries", 169),
    ("rows_remapped", 142),
    ("rows_remapped_uncorrectable", 143),
)
_REPAIRS: Final[Mapping[int, Mapping[int, str]]] = MappingProxyType(
    {
        230: {
            1: "a reset of the card",
            2: "a restart of the machine",
            3: "draining its peer traffic",
            4: "draining it and a reset",
            5: "a recovery of the IMEX domain",
            6: "a bus reset",
            7: "a restart of the machine",
        },
        145: {1: "a replacement: a memory row could not be remapped"},
    }
)
"""Field → what NVML asks for, by its value: the recovery action, and that remapping failed."""


def field_block(library: Library) -> FieldBlock | None:
    """Return an empty block; None where the driver knows no field values."""
    function = library.function("nvmlDeviceGetFieldValues")
    return None if function is None else FieldBlock(function, library.fields_a_call)


class Counters:
    """Throttle times, PCIe bytes, power, energy and memory temperature."""

    def __init__(self, library: Library, cards: Sequence[Card]) -> None:
        """Choose each card's fields from those that it answers."""
        self._block = field_block(library)
        self._outputs, self._traffic = Outputs(), Traffic()
        held: list[tuple[slice, list[str], str]] = []
        for card in cards if self._block is not None else ():
            self._add(card, held)
        self._throttle = ThrottleTimes(*(list(part) for part in zip(*held, strict=True))) if held else None
        for part in (self._block, self._outputs, self._traffic):
            if part is not None:
                part.seal()

    def _add(self, card: Card, held: list[tuple[slice, list[str], str]]) -> None:
        throttle = throttle_fields(card)
        levels = [(key, (field, 0), unit) for key, field, unit in _LEVELS if (field, 0) in card.answers]
        pcie = [place for place in (BYTES_IN, BYTES_OUT) if place in card.answers]
        asked = [(field, 0) for field in throttle.values()] + [place for _, place, _ in levels] + pcie
        if self._block is None or not asked:
            return
        columns = self._block.add(card.index, card.handle, asked)
        at = {place: columns.start + number for number, place in enumerate(asked)}
        if throttle:
            held.append((slice(columns.start, columns.start + len(throttle)), list(throttle), card.device))
        for key, place, unit in levels:
            self._outputs.add(series(key, card.device), at[place], unit)
        for place in pcie:
            self._add_bytes(card, place, at[place])

    def _add_bytes(self, card: Card, place: tuple[int, int], column: int) -> None:
        inward = place == BYTES_IN
        total = series("pcie_bytes_in" if inward else "pcie_bytes_out", card.device)
        rate = series("pcie_receive" if inward else "pcie_transmit", card.device)
        self._traffic.add([column], [total], rate if card.pcie_by_field else None, 1.0, card.pcie_most)

    @property
    def gone(self) -> list[Gone]:
        """Cards that said that they are gone."""
        return [] if self._block is None else self._block.gone

    def read(self, now: float) -> list[Columns]:
        """Return what the cards counted up to `now`."""
        block = self._block
        if block is None or not block.columns:
            return []
        block.read()
        told = [self._outputs.columns(block)]
        if self._throttle is not None:
            told += self._throttle.columns(now, block)
        return told + self._traffic.columns(now, block)

    def close(self) -> None:
        """Nothing is held open."""


class Health:
    """Errors that a sound card does not count, and whether the card itself asks for a repair."""

    def __init__(self, library: Library, cards: Sequence[Card], notices: Notices) -> None:
        """Choose each card's fields from those that it answers."""
        self._block, self._notices = field_block(library), notices
        self._outputs = Outputs()
        self._repairs: list[tuple[str, int, int]] = []
        for card in cards if self._block is not None else ():
            self._add(card)
        if self._block is not None:
            self._block.seal()
        self._outputs.seal()
        self.degraded: frozenset[str] = frozenset()
        """Devices that ask for a reset, or whose memory could not be repaired."""

    def _add(self, card: Card) -> None:
        errors = [(key, field) for key, field in _ERRORS if (field, 0) in card.answers]
        repairs = [field for field in _REPAIRS if (field, 0) in card.answers]
        asked = [(field, 0) for _, field in errors] + [(field, 0) for field in repairs]
        if self._block is None or not asked:
            return
        columns = self._block.add(card.index, card.handle, asked)
        for number, (key, _) in enumerate(errors):
            self._outputs.add(series(key, card.device), columns.start + number)
        start = columns.start + len(errors)
        self._repairs += [(card.device, start + number, field) for number, field in enumerate(repairs)]

    @property
    def gone(self) -> list[Gone]:
        """Cards that said that they are gone."""
        return [] if self._block is None else self._block.gone

    def read(self, now: float) -> list[Columns]:
        """Return the counts; `now` is not needed: they are totals."""
        block = self._block
        if block is None or not block.columns:
            return []
        block.read()
        asked = [one for one in self._repairs if block.good[one[1]] and block.values[one[1]]]
        for device, column, field in asked:
            what = _REPAIRS[field].get(int(block.values[column]), "a repair")
            self._notices.say(f"GPU {device}: NVML asks for {what}; it is reported as degraded")
        self.degraded = frozenset(device for device, _, _ in asked)
        return [self._outputs.columns(block)]

    def close(self) -> None:
        """Nothing is held open."""
