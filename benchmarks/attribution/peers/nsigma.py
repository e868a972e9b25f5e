"""N-Sigma: the series that rises most standard deviations above its baseline.

As defined in the RCAEval benchmark (Pham et al. 2024) and shipped by the same authors in `fse-baro`.
"""

from benchmarks.attribution.peers.answer import Answer
from benchmarks.attribution.peers.ranked import first_of
from benchmarks.attribution.peers.rca_frame import frame_of
from otel_attrib.analytics.period import Period

__all__ = ["answer"]


def answer(baseline: Period, current: Period, level: float) -> Answer:
    """Name the layer of the first series in the ranking."""
    from baro.root_cause_analysis import nsigma

    frame, boundary = frame_of(baseline, current)
    return first_of(nsigma(frame, inject_time=boundary)["ranks"], frame, boundary, robust=False)
