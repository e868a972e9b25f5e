"""Which layers the counters of a stretch can speak of, and who would read the others."""

from collections.abc import Collection, Iterator, Mapping

from otel_attrib.schema.attributes import LAYERS
from otel_attrib.schema.counters import COUNTERS

__all__ = ["WORDS", "lacking", "missing_of"]

WORDS = {
    "gpu": "GPU clocks and throttling",
    "pcie": "PCIe",
    "nvlink": "NVLink",
    "cpu": "run queue, cgroup and pressure of the host",
    "network": "TCP",
    "client": "send queues",
}
"""Layer → its counters in few words; the scheduler's are in the engine's steps."""


def missing_of(known: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return layer → its counters, for the layers that none of the `known` counters (keys) speaks of."""
    own = {
        layer: tuple(counter.key for counter in COUNTERS if counter.layer == layer and counter.bad)
        for layer in LAYERS
        if layer in WORDS
    }
    return {layer: keys for layer, keys in own.items() if not set(keys) & set(known)}


def lacking(missing: Mapping[str, tuple[str, ...]], nodes: Collection[str]) -> Iterator[str]:
    """Say what was not read and what would read it."""
    if missing:
        words = ", ".join(WORDS[layer] for layer in missing)
        where = " and ".join(node for node in nodes if node) or "the engine's node"
        yield f"not read: {words}; `otel-attrib agent` on {where} reads what that machine has"
