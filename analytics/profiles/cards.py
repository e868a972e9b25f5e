"""What an accelerator can do, as its maker publishes it: `data/cards.toml`, sources in `data/SOURCE.md`.

Peaks are dense (no sparsity) and at boost clock: an upper bound, so a share of one is never flattering.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from otel_attrib.analytics.profiles.links import Link
from otel_attrib.analytics.profiles.timeline import UNKNOWN, Device
from otel_attrib.errors import UsageError

__all__ = ["Card", "card_named", "card_of", "cards"]

_NEAR = 0.05


@dataclass(frozen=True, slots=True)
class Card:
    """One accelerator: FLOP/s by number format, bytes/s and bytes of its memory, links to host and peers.

    `collectives` names the measured tables that hold for it; empty where there are none.
    """

    key: str
    names: tuple[str, ...]
    peaks: Mapping[str, float]
    memory_bandwidth: float
    memory: float
    sms: int
    host_link: Link
    peer_link: Link
    compute: str
    collectives: str

    @property
    def title(self) -> str:
        """Return the name that the driver gives it."""
        return self.names[0]


@lru_cache(maxsize=1)
def cards() -> Mapping[str, Card]:
    """Return all cards by key, in the order of the file."""
    text = files("otel_attrib.analytics.profiles").joinpath("data", "cards.toml").read_text("utf-8")
    return {key: _card(key, said) for key, said in tomllib.loads(text).items()}


def _card(key: str, said: dict[str, Any]) -> Card:
    host = Link("pcie", *said["pcie"])
    if "nvlink" in said:
        peer = Link("nvlink", *said["nvlink"])
    else:
        peer = Link("xgmi", 3, said["xgmi"]) if "xgmi" in said else host
    return Card(
        key=key,
        names=tuple(said["names"]),
        peaks=said["peaks"],
        memory_bandwidth=said["memory_bandwidth"],
        memory=said["memory"],
        sms=said["sms"],
        host_link=host,
        peer_link=peer,
        compute=said.get("compute", ""),
        collectives=said.get("collectives", ""),
    )


def card_named(word: str) -> Card:
    """Return the card with this key or driver name; a `UsageError` lists the keys."""
    for card in cards().values():
        if word.casefold() in (card.key, *(name.casefold() for name in card.names)):
            return card
    raise UsageError(f"no card {word!r}; choose one of {', '.join(cards())}")


def card_of(device: Device) -> Card | None:
    """Return the card that a profile's device is, by name, else by its make; None when it is none of ours."""
    named = [card for card in cards().values() if device.name and device.name in card.names]
    if named or device.name:
        return named[0] if named else None
    alike = [card for card in cards().values() if _alike(card, device)]
    return alike[0] if len(alike) == 1 else None


def _alike(card: Card, device: Device) -> bool:
    """ROCm's profiler leaves the name empty: the architecture, the units and the memory tell."""
    if UNKNOWN in (device.sms, device.memory_bytes) or not card.compute:
        return False
    near = abs(device.memory_bytes - card.memory) <= _NEAR * card.memory
    return card.compute == device.compute and card.sms == device.sms and near
