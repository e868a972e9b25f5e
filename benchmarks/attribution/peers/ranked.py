"""From a ranking of series to an answer, for the methods that give ranks alone."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.attribution.peers.answer import Answer
from benchmarks.attribution.peers.rca_frame import LATENCY, meaning
from benchmarks.attribution.peers.stage_layers import COUNTER_LAYER, STAGE_LAYER

__all__ = ["first_of"]


def first_of(ranks: Sequence[str], frame: Any, boundary: int, robust: bool) -> Answer:
    """Name the layer of the first series but the latency itself, as sure as its own deviation is large."""
    ranks = [name for name in ranks if name not in (LATENCY, "time")]
    if not ranks:
        return Answer(None, note="no series")
    word = meaning(ranks[0])
    layer = COUNTER_LAYER.get(word, STAGE_LAYER.get(word))
    height = _height(frame[ranks[0]].to_numpy(), boundary, robust)
    return Answer(layer, height / (3 + height), guess=layer, note=ranks[0])


def _height(values: Any, boundary: int, robust: bool) -> float:
    before, after = values[:boundary], values[boundary:]
    if robust:
        low, centre, high = np.quantile(before, [0.25, 0.5, 0.75])
        spread = high - low
    else:
        centre, spread = before.mean(), before.std()
    return float(max(0.0, (after.max() - centre) / max(spread, 1e-12)))
