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
    cache: tokens, all of a request's from its admission on. room: tokens that there are at one time, as far
    as they had come.
    """

    seats: Floats
    stood: Flags
    cache: Floats
    room: Floats

    def joined(self, other: "Ceilings") -> "Ceilings":
        """Return the higher ones: an engine that once held more can hold more."""
        higher = other.seats > self.seats
        stood = np.where(higher, other.stood, self.stood)
        return Ceilings(
            np.maximum(self.seats, other.seats),
            stood,
            np.maximum(self.cache, other.cache),
            np.maximum(self.room, other.room),
        )

    def limits(self, seats: bool, cache: bool, growing: bool, budget: float) -> dict[int, Limits]:
        """Return each engine's limits, those not asked for being infinite; of cache the room if `growing`."""
        most = np.where(self.stood, self.seats, self.seats.max(initial=1.0))
        return {
            code: Limits(
                float(most[code]) if seats else inf,
                float((self.room if growing else self.cache)[code]) if cache else inf,
                budget,
                cache and growing,
            )
            for code in range(self.seats.size)
        }


def ceilings_of(seen: Arrivals, steps: Steps, engines: int) -> Ceilings:
    """Return the ceilings that one window's requests reached; steps count the seats where there are any."""
    found = Ceilings(np.ones(engines), np.zeros(engines, dtype=np.bool_), np.ones(engines), np.ones(engines))
    room = steps.room(seen)
    for code, rows in by_engine(seen.engine):
        found.seats[code], found.cache[code], found.room[code] = _most_held(seen, rows)
        found.room[code] = room.get(code, found.room[code])
        most, found.stood[code] = steps.seats(code)
        if most:
            found.seats[code] = most
    return found


def _most_held(seen: Arrivals, rows: slice) -> tuple[float, float, float]:
    """Return the most requests between admission and last token, and tokens of them, at one time.

    Tokens first as they are at the end, then as they come: the prompt's at once, the others evenly.
    """
    start = seen.at[rows] + seen.queue[rows]
    end = start + seen.service[rows] + seen.holding[rows]
    sign = np.concatenate([np.ones(start.size), -np.ones(start.size)])
    order = np.lexsort((sign, np.concatenate([start, end])))  # who leaves makes room before who comes
    tokens = np.concatenate([seen.held[rows], -seen.held[rows]])
    requests, at_end = np.cumsum(sign[order]), np.cumsum(tokens[order])
    return float(requests.max()), float(at_end.max()), _most_come(seen, rows, start, end)


def _most_come(seen: Arrivals, rows: slice, start: Floats, end: Floats) -> float:
    """Return the most tokens that had come, of requests between their start and end, at one time."""
    output, holding = seen.output[rows], seen.holding[rows]
    rate = np.divide(output, holding, out=np.zeros(output.size), where=holding > 0)
    moments = np.concatenate([start, end - holding, end])
    growth = np.concatenate([np.zeros(output.size), rate, -rate])
    jumps = np.concatenate([seen.held[rows] - output, np.zeros(output.size), -seen.held[rows]])
    order = np.lexsort((np.concatenate([np.ones(2 * output.size), -np.ones(output.size)]), moments))
    grown = np.cumsum(growth[order])[:-1] * np.diff(moments[order])
    come = np.cumsum(jumps[order] + np.append(0.0, grown))
    return float(np.maximum(come, come - jumps[order]).max())  # just before one leaves, too
