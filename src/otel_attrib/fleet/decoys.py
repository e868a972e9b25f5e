"""Decoys: counters that move while no time does. Whoever blames them is wrong."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from otel_attrib.errors import UsageError
from otel_attrib.fleet.cards import Card
from otel_attrib.fleet.faults import Unit

__all__ = ["DECOYS", "Kind", "decoy_named"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of decoy; its effects are terms that only counters read."""

    name: str
    unit: Unit
    meaning: str
    effects: Callable[[Card], dict[str, float]]


DECOYS: Final = (
    Kind(
        "throttle_flag",
        "gpu",
        "the throttle flag is set while the clock stays",
        lambda card: {"throttled": 0.9},
    ),
    Kind(
        "power_limit",
        "node",
        "the power limit is lowered to what is never drawn",
        lambda card: {"power_limit": 0.9},
    ),
    Kind("heat", "node", "warmer cards, no throttling", lambda card: {"heat": 9.0}),
    Kind(
        "link_generation",
        "gpu",
        "generation 1 is reported though the link is fast",
        lambda card: {"generations_down": card.generation - 1.0},
    ),
    Kind("pcie_replays", "gpu", "some PCIe replays that cost nothing", lambda card: {"pcie_replays": 0.5}),
    Kind("nvlink_crc", "gpu", "some CRC errors that cost nothing", lambda card: {"nvlink_crc": 0.5}),
    Kind(
        "utilization",
        "node",
        "another process keeps a kernel running on the cards",
        lambda card: {"util_other": 0.97},
    ),
    Kind("retransmits", "node", "segments lost on another interface", lambda card: {"retransmits": 60.0}),
    Kind("cpu_busy", "node", "other processes on other cores", lambda card: {"cpu_other": 0.45}),
    Kind(
        "zero_window",
        "node",
        "a client of another service closes its window",
        lambda card: {"zero_window": 8.0},
    ),
)
_BY_NAME = {kind.name: kind for kind in DECOYS}


def decoy_named(name: str) -> Kind:
    """Return the kind a scenario names."""
    if name not in _BY_NAME:
        raise UsageError(f"no decoy {name!r}; choose one of {', '.join(sorted(_BY_NAME))}")
    return _BY_NAME[name]
