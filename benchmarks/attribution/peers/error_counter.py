"""Blame the card with an error counter: the device whose error counters grew most."""

from benchmarks.attribution.peers.answer import Answer
from benchmarks.attribution.peers.counter_series import Series, read_series
from otel_attrib.analytics.period import Period

__all__ = ["answer"]


def _errors(series: dict[tuple[str, str, str], Series]) -> dict[tuple[str, str, str], float]:
    return {
        place: float(one.values.mean()) for place, one in series.items() if one.counter.metric == "hw.errors"
    }


def answer(baseline: Period, current: Period, level: float) -> Answer:
    """Name the layer of the error counter with the largest increase in rate, if any increased."""
    before, after = _errors(read_series(baseline.samples)), _errors(read_series(current.samples))
    grown = {place: rate - before.get(place, 0.0) for place, rate in after.items()}
    place = max(grown, key=lambda p: (grown[p], p), default=None)
    if place is None or grown[place] <= 0:
        return Answer(None, note="no error counter grew")
    series = read_series(current.samples)[place]
    rate = grown[place]
    where = {"node": series.node, "gpu_set": series.device}
    return Answer(
        series.counter.layer, rate / (1 + rate), guess=series.counter.layer, where=where, note=" ".join(place)
    )
