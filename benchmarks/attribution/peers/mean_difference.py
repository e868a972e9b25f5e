"""Mean difference: mean stage times of all requests, current minus baseline."""

from benchmarks.attribution.peers.answer import Answer
from benchmarks.attribution.peers.stage_answer import name_largest
from otel_attrib.analytics.period import Period

__all__ = ["answer"]


def answer(baseline: Period, current: Period, level: float) -> Answer:
    """Name the layer of the stage whose mean grew most; it explains the mean, which is all it promises."""
    change = current.rows.parts.mean(axis=0) - baseline.rows.parts.mean(axis=0)
    stages = dict(zip(current.rows.names, change.tolist(), strict=True))
    return name_largest(stages, float(change.sum()))
