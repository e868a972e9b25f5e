"""The declared tables by which a peer's own word becomes a layer: the same for every peer.

A peer that names a stage means the layer that usually owns that stage; one that names a counter means the
counter's layer in `schema/counters.py`; one that names an attribute of requests means what people
commonly conclude from it. `None` is no layer: an answer of "workload", which names nothing broken.
"""

from otel_attrib.schema.counters import COUNTERS

__all__ = ["ATTRIBUTE_LAYER", "COUNTER_LAYER", "COUNTER_STAGES", "STAGE_LAYER", "layers_of"]

STAGE_LAYER: dict[str, str | None] = {
    "ingress": "network",
    "tokenize": "cpu",
    "queue": "scheduler",
    "kv_init": "pcie",
    "prefill": "gpu",
    "sample": "gpu",
    "egress": "network",
    "outside": None,
    "batch_wait": "scheduler",
    "forward": "gpu",
}

ATTRIBUTE_LAYER: dict[str, str | None] = {
    "gpu_set": "gpu",
    "replica": "gpu",
    "node": "cpu",
    "version": "cpu",
    "engine_version": "scheduler",
    "engine": "scheduler",
    "tenant": "client",
    "model": None,
    "sla_class": None,
    "service": None,
}

COUNTER_LAYER = {counter.key: counter.layer for counter in COUNTERS}

COUNTER_STAGES: dict[str, tuple[str, ...]] = {
    "scheduler": ("queue",),
    "gpu": ("prefill", "sample"),
    "pcie": ("kv_init",),
    "nvlink": ("prefill",),
    "cpu": ("tokenize", "ingress", "sample", "egress"),
    "network": ("ingress", "egress"),
    "client": ("egress",),
}
"""The call graph that CIRCA is given: a layer's counters act on these stages, and these on the latency."""


def layers_of(stages_ms: dict[str, float]) -> dict[str, float]:
    """Return ms by layer, by the stages' usual owners."""
    found: dict[str, float] = {}
    for stage, ms in stages_ms.items():
        layer = STAGE_LAYER.get(stage)
        if layer is not None:
            found[layer] = found.get(layer, 0.0) + ms
    return found
