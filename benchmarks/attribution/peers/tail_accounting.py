"""Tail accounting: mean stage times of the requests at the quantile, current minus baseline.

What trace viewers, attribute diffs and critical-path pages show. It adds up exactly.
"""

import numpy as np

from benchmarks.attribution.peers.answer import Answer
from benchmarks.attribution.peers.stage_answer import name_largest
from otel_attrib.analytics.columns import Floats, Rows
from otel_attrib.analytics.harrell_davis import composition, weights
from otel_attrib.analytics.period import Period

__all__ = ["answer", "tail_composition"]


def tail_composition(rows: Rows, level: float) -> Floats:
    """Return (K,) ms by stage at the quantile."""
    order = np.argsort(rows.values, kind="stable")
    return composition(weights(rows.n, level), rows.parts[order])


def answer(baseline: Period, current: Period, level: float) -> Answer:
    """Name the layer of the stage that grew most in the tail."""
    change = tail_composition(current.rows, level) - tail_composition(baseline.rows, level)
    stages = dict(zip(current.rows.names, change.tolist(), strict=True))
    return name_largest(stages, float(change.sum()))
