"""Why a card's clocks are held down, and for how long: the driver's cumulative nanoseconds, else its bitmask.

A bitmask that is polled misses what is shorter than the time between two polls; the counters miss nothing.
Fields 251 to 273 were renumbered in the R580 branch (NVML's list of known issues), and the older numbers now
mean power smoothing. The throttle times are the only ones among them with 64 bits, which tells them apart.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import numpy as np

from otel_attrib.collector.agent.source import series
from otel_attrib.collector.sources.nvml_block import FieldBlock
from otel_attrib.collector.sources.nvml_columns import Columns, Named
from otel_attrib.collector.sources.nvml_rates import Growth

__all__ = ["BITS", "HELD_DOWN", "REASONS", "ThrottleTimes", "chosen_fields"]

REASONS: Final[Mapping[str, tuple[int, ...]]] = MappingProxyType(
    {
        "sw_power_cap": (74,),
        "sync_boost": (76,),
        "sw_thermal_slowdown": (269, 251),
        "hw_thermal_slowdown": (270, 252),
        "hw_power_brake_slowdown": (271, 253),
        "board_limit": (77,),
        "reliability": (79,),
        "thermal": (75,),
    }
)
"""Reason → fields of its nanoseconds, the newest number first; `thermal` is what older drivers have."""

BITS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "sw_power_cap": 0x4,
        "hw_slowdown": 0x8,
        "sync_boost": 0x10,
        "sw_thermal_slowdown": 0x20,
        "hw_thermal_slowdown": 0x40,
        "hw_power_brake_slowdown": 0x80,
        "board_limit": 0x200,
        "reliability": 0x400,
    }
)
"""Reason → its bit among the clocks-event reasons. Idle, chosen and display clocks hold nothing down."""

HELD_DOWN: Final = sum(BITS.values())
"""All bits that hold the clocks down, for cards without the counters."""

_WIDE = frozenset({2, 3, 4})
_NANOSECONDS: Final = 1e-9


def chosen_fields(type_of: Mapping[int, int]) -> dict[str, int]:
    """Return reason → field, given field → value type of those that the card answers."""
    found: dict[str, int] = {}
    for reason, fields in REASONS.items():
        field = next((number for number in fields if type_of.get(number) in _WIDE), None)
        if field is not None:
            found[reason] = field
    if "sw_thermal_slowdown" in found or "hw_thermal_slowdown" in found:
        found.pop("thermal", None)  # the same time under the older name
    return found


class ThrottleTimes:
    """Seconds throttled by reason, and the share of the time between two reads that a card was throttled.

    Reasons overlap and their sum would count a second twice: the share is that of the longest reason alone,
    never more than the truth.
    """

    def __init__(
        self, columns: Sequence[slice], reasons: Sequence[Sequence[str]], devices: Sequence[str]
    ) -> None:
        """Take each card's columns in the block, their reasons, and its `hw.id`; one card at least."""
        self._columns = np.concatenate([np.arange(c.start, c.stop) for c in columns])
        self._starts = np.cumsum([0, *(c.stop - c.start for c in columns)])[:-1]
        self._named = Named(
            [
                series("gpu_throttle_time", device, hw__gpu__throttle_reasons=reason)
                for device, named in zip(devices, reasons, strict=True)
                for reason in named
            ]
        )
        self._shares = Named([series("gpu_throttled", device) for device in devices])
        self._growth = Growth(np.full(self._columns.size, 1e9))

    def columns(self, now: float, block: FieldBlock) -> list[Columns]:
        """Return what the block's last read, taken at `now` seconds, says of them."""
        numbers = block.values[self._columns]
        good = None if block.whole else block.good[self._columns]
        grown = self._growth.step(now, numbers, good=good)
        shares = np.fmax.reduceat(self._growth.rates(grown), self._starts) * _NANOSECONDS
        known = None if self._growth.whole else np.isfinite(shares)
        told = self._shares.columns(np.minimum(shares, 1.0), known)
        return [self._named.columns(numbers * _NANOSECONDS, good), told]
