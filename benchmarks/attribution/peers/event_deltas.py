"""Event-deltas score: the attribute value whose share differs most between slow requests and the rest.

The score that ClickStack's Event Deltas ranks by: both groups brought to 100 %, largest difference of
shares over the values of a field; the slow are those above the baseline's quantile.
"""

import numpy as np

from benchmarks.attribution.peers.answer import Answer
from benchmarks.attribution.peers.attributes import layer_of, useful_dimensions
from otel_attrib.analytics.columns import Dimension, Flags
from otel_attrib.analytics.period import Period

__all__ = ["answer"]


def _largest(dimension: Dimension, slow: Flags) -> tuple[float, str]:
    size = len(dimension.labels)
    shares = [np.bincount(dimension.codes[group], minlength=size) / group.sum() for group in (slow, ~slow)]
    difference = shares[0] - shares[1]
    top = int(np.argmax(difference))
    return float(difference[top]), dimension.labels[top]


def answer(baseline: Period, current: Period, level: float) -> Answer:
    """Name the slice with the largest score, and the layer that its attribute stands for."""
    rows = current.rows
    slow = rows.values > np.quantile(baseline.rows.values, level)
    if not 0 < slow.sum() < rows.n:
        return Answer(None, note="no slow requests")
    found = {name: _largest(dim, slow) for name, dim in useful_dimensions(rows).items()}
    if not found:
        return Answer(None, note="no attribute has two values")
    name = max(found, key=lambda n: (found[n][0], n))
    where = {name: found[name][1]}
    layer = layer_of(where)
    return Answer(layer, found[name][0], guess=layer, where=where)
