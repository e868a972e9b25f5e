"""The model of the engine that fits the baseline best, and both windows ready to be replayed in it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.period import Period
from otel_attrib.analytics.replay.arrivals import arrivals_of, sequence_of_engines
from otel_attrib.analytics.replay.engine import Limits
from otel_attrib.analytics.replay.gate import Fit, fit_of
from otel_attrib.analytics.replay.limits import ceilings_of, choices
from otel_attrib.analytics.replay.residual import residual_of
from otel_attrib.analytics.replay.world import World, world_of

__all__ = ["Calibrated", "calibrate"]

Floats = NDArray[np.float64]

BETTER = 0.005  # a further limit has to earn its place: R² that much higher


@dataclass(frozen=True)
class Calibrated:
    """Both worlds, the engines' limits, the baseline's replayed waits and how well they fit."""

    baseline: World
    current: World
    limits: dict[int, Limits]
    replayed: Floats
    fit: Fit


def calibrate(baseline: Period, current: Period) -> Calibrated:
    """Choose the limits on the baseline; the current window may raise them, never lower them."""
    engines = sequence_of_engines(baseline.requests, current.requests)
    a, b = (_world(period, engines) for period in (baseline, current))
    ceilings = ceilings_of(a.seen, len(engines))
    best: tuple[Fit, tuple[bool, bool, bool], Floats] | None = None
    for chosen in choices():
        replayed = a.waits(ceilings.limits(*chosen))
        fit = fit_of(a.seen.wait, replayed)
        if best is None or fit.r2 > best[0].r2 + BETTER:
            best = fit, chosen, replayed
    assert best is not None
    fit, chosen, replayed = best
    limits = ceilings.joined(ceilings_of(b.seen, len(engines))).limits(*chosen)
    return Calibrated(a, b, limits, replayed, fit)


def _world(period: Period, engines: dict[str, int]) -> World:
    seen = arrivals_of(period.requests, engines)
    return world_of(seen, residual_of(seen, period.steps, engines))
