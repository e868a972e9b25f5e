"""Largest counter ratio: the counter whose mean moved most in its bad direction, on any device."""

import numpy as np

from benchmarks.attribution.peers.answer import Answer
from benchmarks.attribution.peers.counter_series import Series, read_series
from otel_attrib.analytics.period import Period

__all__ = ["answer"]


def _ratio(before: Series, after: Series) -> float:
    """Return after / before (inverted where less is bad); one event in the window is the least counted."""
    a, b = float(before.values.mean()), float(after.values.mean())
    seconds = max(1.0, float(np.ptp(before.time_us)) / 1e6)
    floor = 1 / seconds if before.counter.kind == "total" else 1e-3 * max(abs(a), abs(b), 1e-9)
    ratio = (b + floor) / (a + floor)
    return ratio if before.counter.bad > 0 else 1 / max(ratio, 1e-9)


def answer(baseline: Period, current: Period, level: float) -> Answer:
    """Name the layer of the counter with the largest ratio, where one rose by a tenth or more."""
    before, after = read_series(baseline.samples), read_series(current.samples)
    ratios = {
        place: _ratio(series, after[place])
        for place, series in before.items()
        if place in after and series.counter.bad
    }
    if not ratios:
        return Answer(None, note="no counters")
    place = max(ratios, key=lambda p: (ratios[p], p))
    layer = before[place].counter.layer
    named = layer if ratios[place] >= 1.1 else None
    score = 1 - 1 / max(ratios[place], 1.0)
    return Answer(named, score, guess=layer, note=" ".join(place))
