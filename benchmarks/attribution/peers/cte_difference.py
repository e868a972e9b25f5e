"""CTE difference: mean stage times of the requests above the quantile, current minus baseline.

The conditional tail expectation is additive over parts (Euler allocation of expected shortfall;
Tasche 1999, "Risk contributions and performance measurement").
"""

import numpy as np

from benchmarks.attribution.peers.answer import Answer
from benchmarks.attribution.peers.stage_answer import name_largest
from otel_attrib.analytics.columns import Floats, Rows
from otel_attrib.analytics.period import Period

__all__ = ["answer"]


def _above(rows: Rows, level: float) -> Floats:
    least = np.quantile(rows.values, level)
    mean: Floats = rows.parts[rows.values >= least].mean(axis=0)
    return mean


def answer(baseline: Period, current: Period, level: float) -> Answer:
    """Name the layer of the stage that grew most above the quantile."""
    change = _above(current.rows, level) - _above(baseline.rows, level)
    stages = dict(zip(current.rows.names, change.tolist(), strict=True))
    return name_largest(stages, float(change.sum()))
