"""What a PCIe link can carry.

Per direction and lane: transfers per second times the share of bits that are data (8b/10b up to 2.0,
128b/130b to 5.0, 242/256 of a flit from 6.0 on), from the PCI-SIG's base specifications.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

__all__ = ["LANE_BYTES", "link_bytes"]

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


def link_bytes(generation: float, width: float) -> float:
    """Return the most bytes per second in one direction; infinite where either is not known."""
    return LANE_BYTES.get(int(generation), float("inf")) * width if width else float("inf")
