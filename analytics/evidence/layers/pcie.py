"""The way between host and card: width, generation, replays, and copies that take longer at equal bytes.

A link trains down to generation 1 while idle: a low generation counts only on a card that moves data. More
of the engine's own bytes at unchanged speed is no fault of the link but of whoever asked for the copies.
"""

from otel_attrib.analytics.evidence.layers.transfer import (
    Measure,
    more_bytes,
    neighbour,
    slower_per_byte,
    steady_per_byte,
    step_share,
)
from otel_attrib.analytics.evidence.signal import (
    NOTHING,
    Finding,
    Signal,
    change_text,
    events,
    rise,
    saturate,
)
from otel_attrib.analytics.evidence.view import View
from otel_attrib.analytics.wording import digits

__all__ = ["SIGNALS"]

BUSY_BYTES = 50e6
MOVED = ("kv_init", "prefill", "queue", "decode_forward", "decode_batch_wait", "sample", "outside", "gap")


def _generation_down(view: View) -> Finding | None:
    generation = view.contrasts.get("pcie_generation")
    if generation is None:
        return None
    if not _under_load(view):
        return NOTHING
    strength = saturate(-generation.relative, 0.2) * generation.trust
    return Finding(strength, change_text(view, generation)) if strength > 0 else NOTHING


def _under_load(view: View) -> bool:
    """Whether the hit cards moved data: the link would not sleep then."""
    own, link = view.contrasts.get("copy_bytes"), view.contrasts.get("pcie_receive")
    if own is not None and own.after > BUSY_BYTES / 100:
        return True
    return link is not None and link.after > BUSY_BYTES


def _load_slower(view: View) -> Finding | None:
    """KV loads slower at equal uncached tokens while the cache hits as before."""
    ratio, rate = view.work.ratios.get("kv_init"), view.work.hit_rate
    if ratio is None:
        return None
    moved = abs(rate[1] - rate[0]) if rate is not None else 0.0
    strength = saturate(ratio - 1.05, 0.3) * (1 - saturate(moved, 0.05))
    return Finding(strength, f"KV loads take {digits(ratio)} times as long at the same hit rate")


def _when_between_cards(measure: Measure) -> Measure:
    """Cards without NVLink talk over PCIe: then their collectives are its load."""

    def measured(view: View) -> Finding | None:
        return measure(view) if view.over_pcie else NOTHING

    return measured


SIGNALS = (
    Signal("copies_slower", "pcie", True, "copy_time", slower_per_byte("copy", "Copies"), stages=MOVED),
    Signal("copy_steps", "pcie", True, "steps.copy_us", step_share("copy_us", "copies"), stages=MOVED),
    Signal(
        "peer_copies_slower",
        "pcie",
        True,
        "collective_time",
        _when_between_cards(slower_per_byte("collective", "Collectives over PCIe")),
        stages=MOVED,
    ),
    Signal(
        "peer_copy_steps",
        "pcie",
        True,
        "steps.collective_us",
        _when_between_cards(step_share("collective_us", "collectives over PCIe")),
        stages=MOVED,
    ),
    Signal("pcie_replays", "pcie", True, "pcie_replays", events("pcie_replays", 16.0), stages=MOVED),
    Signal("width_down", "pcie", True, "pcie_width", rise("pcie_width", 0.2), stages=MOVED),
    Signal("generation_down", "pcie", True, "pcie_generation", _generation_down, stages=MOVED),
    Signal(
        "pcie_neighbour",
        "pcie",
        True,
        "pcie_receive",
        neighbour(("pcie_receive", "pcie_transmit"), "copy_bytes", 5e9, "PCIe"),
        stages=MOVED,
    ),
    Signal(
        "kv_loads_slower",
        "pcie",
        True,
        "requests.kv_init_us",
        _load_slower,
        own=False,
        stages=("kv_init", "queue"),
    ),
    Signal("copies_steady", "pcie", False, "copy_time", steady_per_byte("copy", "Copies")),
    Signal("copies_more", "pcie", False, "copy_bytes", more_bytes("copy", "copies")),
)
