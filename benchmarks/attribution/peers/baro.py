"""BARO: the series whose robustly scaled values rise highest after the change.

Pham, Ha and Zhang (2024), "BARO: Robust root cause analysis for microservices via multivariate Bayesian
online change point detection", FSE; their package `fse-baro`. It is given the time of the change.
"""

from benchmarks.attribution.peers.answer import Answer
from benchmarks.attribution.peers.ranked import first_of
from benchmarks.attribution.peers.rca_frame import frame_of
from otel_attrib.analytics.period import Period

__all__ = ["answer"]


def answer(baseline: Period, current: Period, level: float) -> Answer:
    """Name the layer of the first series in BARO's ranking."""
    from baro.root_cause_analysis import robust_scorer

    frame, boundary = frame_of(baseline, current)
    return first_of(robust_scorer(frame, inject_time=boundary)["ranks"], frame, boundary, robust=True)
