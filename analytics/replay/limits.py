"""What an engine can hold at once, found in how it behaved.

A limit is nowhere written in the telemetry; it shows as a ceiling that running requests, cached tokens
or prompt tokens of one step reach while others wait. Which ceilings bind is decided by the fit: the
combination whose replayed waits of the baseline come nearest to the observed ones.
"""

from dataclasses import dataclass
from itertools import product
from math import inf

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.replay.arrivals import Arrivals
from otel_attrib.analytics.replay.engine import Limits

__all__ = ["Ceilings", "ceilings_of", "choices"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TOGETHER_MS = 0.5  # admissions of one step are stamped one after the other


@dataclass(frozen=True)
class Ceilings:
    """The most that each engine was seen to hold; (engines,) each, by code."""

    seats: Floats
    cache: Floats
    budget: Floats

    def joined(self, other: "Ceilings") -> "Ceilings":
        """Return the higher ones: an engine that once held more can hold more."""
        return Ceilings(
            np.maximum(self.seats, other.seats),
            np.maximum(self.cache, other.cache),
            np.maximum(self.budget, other.budget),
        )

    def limits(self, seats: bool, cache: bool, budget: bool) -> dict[int, Limits]:
        """Return each engine's limits, those not asked for being infinite."""
        return {
            code: Limits(
                float(self.seats[code]) if seats else inf,
                float(self.cache[code]) if cache else inf,
                float(self.budget[code]) if budget else inf,
            )
            for code in range(self.seats.size)
        }


def choices() -> list[tuple[bool, bool, bool]]:
    """Return every combination of (seats, cache, budget), the fewest limits first."""
    every = list(product((False, True), (False, True), (False, True)))
    return sorted(every, key=lambda chosen: (sum(chosen), chosen))


def ceilings_of(seen: Arrivals, engines: int) -> Ceilings:
    """Return the ceilings that one window's requests reached."""
    seats, cache, budget = np.ones(engines), np.ones(engines), np.ones(engines)
    for code in range(engines):
        rows = np.flatnonzero(seen.engine == code)
        if rows.size:
            seats[code], cache[code] = _most_held(seen, rows)
            budget[code] = _most_together(seen.admitted[rows], seen.fresh[rows])
    return Ceilings(seats, cache, budget)


def _most_held(seen: Arrivals, rows: Ints) -> tuple[float, float]:
    """Return the most requests, and cached tokens, between admission and last token at one time."""
    start = seen.admitted[rows]
    end = start + seen.service[rows] + seen.holding[rows]
    sign = np.concatenate([np.ones(rows.size), -np.ones(rows.size)])
    order = np.lexsort((sign, np.concatenate([start, end])))  # who leaves makes room before who comes
    tokens = np.concatenate([seen.held[rows], -seen.held[rows]])
    return float(np.cumsum(sign[order]).max()), float(np.cumsum(tokens[order]).max())


def _most_together(admitted: Floats, fresh: Floats) -> float:
    """Return the most prompt tokens admitted in one step, one prompt's at least."""
    order = np.argsort(admitted, kind="stable")
    group = np.concatenate([[0], np.cumsum(np.diff(admitted[order]) > TOGETHER_MS)])
    totals = np.bincount(group, weights=fresh[order])
    crowd = np.bincount(group)
    several = totals[crowd > 1]
    return float(several.max()) if several.size else inf
