"""What an engine can hold at once, found in how it behaved.

A limit is nowhere written in the telemetry; it shows as a ceiling that running requests or cached tokens
reach while others wait. Which ceilings bind is decided by the fit (`calibrate.py`).
"""

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.replay.arrivals import Arrivals
from otel_attrib.analytics.replay.by_engine import by_engine
from otel_attrib.analytics.replay.engine import Limits
from otel_attrib.analytics.replay.steps import Steps

__all__ = ["Ceilings", "ceilings_of"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Ceilings:
    """The most that each engine was seen to hold; (engines,) each, by code.

    stood: whether it stood at that many requests for a while. Engines that did not can hold as many as any.
    """

    seats: Floats
    stood: Flags
    cache: Floats

    def joined(self, other: "Ceilings") -> "Ceilings":
        """Return the higher ones: an engine that once held more can hold more."""
        higher = other.seats > self.seats
        stood = np.where(higher, other.stood, self.stood)
        return Ceilings(np.maximum(self.seats, other.seats), stood, np.maximum(self.cache, other.cache))

    def limits(self, seats: bool, cache: bool, budget: float) -> dict[int, Limits]:
        """Return each engine's limits, those not asked for being infinite."""
        most = np.where(self.stood, self.seats, self.seats.max(initial=1.0))
        return {
            code: Limits(
                float(most[code]) if seats else inf,
                float(self.cache[code]) if cache else inf,
                budget,
            )
            for code in range(self.seats.size)
        }


def ceilings_of(seen: Arrivals, steps: Steps, engines: int) -> Ceilings:
    """Return the ceilings that one window's requests reached; steps count the seats where there are any."""
    found = Ceilings(np.ones(engines), np.zeros(engines, dtype=np.bool_), np.ones(engines))
    for code, rows in by_engine(seen.engine):
        found.seats[code], found.cache[code] = _most_held(seen, rows)
        most, found.stood[code] = steps.seats(code)
        if most:
            found.seats[code] = most
    return found


def _most_held(seen: Arrivals, rows: slice) -> tuple[float, float]:
    """Return the most requests, and cached tokens, between admission and last token at one time."""
    start = seen.at[rows] + seen.queue[rows]
    end = start + seen.service[rows] + seen.holding[rows]
    sign = np.concatenate([np.ones(start.size), -np.ones(start.size)])
    order = np.lexsort((sign, np.concatenate([start, end])))  # who leaves makes room before who comes
    tokens = np.concatenate([seen.held[rows], -seen.held[rows]])
    return float(np.cumsum(sign[order]).max()), float(np.cumsum(tokens[order]).max())
