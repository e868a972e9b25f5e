"""From ms by stage to an answer: what every peer that splits latency into stages shares."""

import numpy as np

from benchmarks.attribution.peers.answer import Answer
from benchmarks.attribution.peers.stage_layers import layers_of

__all__ = ["name_largest"]


def name_largest(stages_ms: dict[str, float], delta_ms: float, workload_ms: float | None = None) -> Answer:
    """Name the layer with the most ms, as sure as its share of the rise; nothing where no layer rose."""
    layers = layers_of(stages_ms)
    top = max(layers, key=lambda layer: (layers[layer], layer), default=None)
    if top is None or layers[top] <= 0 or (workload_ms is not None and workload_ms > layers[top]):
        top = None
    share = layers[top] / max(delta_ms, 1e-9) if top else 0.0
    lines = sum(stages_ms.values()) + (workload_ms or 0.0)
    return Answer(
        layer=top,
        guess=top,
        score=float(np.clip(share, 0.0, 1.0)),
        layers_ms=layers,
        stages_ms=stages_ms,
        workload_ms=workload_ms,
        delta_ms=delta_ms,
        sum_error_ms=abs(lines - delta_ms),
    )
