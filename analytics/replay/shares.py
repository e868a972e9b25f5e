"""What each request's prompt took of the engine, when steps computed several prompts at once.

Prompts computed in one step all see the whole step as their prefill. A step takes `base` ms whatever
is in it (weights read once, the sequences that decode); the rest of the time in which a request's prompt
was computed is split by tokens among those computed meanwhile. So works and bases add up to the time that
the engine spent.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Passed", "own_work", "passed_between"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST_ALONE = 20
ALONE = 0.98  # share of what was computed during a stay that is the request's own


@dataclass(frozen=True, slots=True)
class Passed:
    """What went on while each prompt was computed, (n,) each, and a step's `base` in ms.

    took: ms of the engine. tokens: prompt tokens that it computed then. copies: ms of copies in it that
    held it up.
    """

    took: Floats
    tokens: Floats
    copies: Floats
    base: float


def own_work(passed: Passed, fresh: Floats, chunks: Floats) -> Floats:
    """Return (n,) ms that each request's own tokens took, neither copies nor the steps' base in it."""
    computing = np.maximum(0.0, passed.took - passed.copies - passed.base * chunks)
    work: Floats = computing * fresh / np.maximum(passed.tokens, fresh)
    return work


def passed_between(
    engine: Ints, start: Floats, lasted: Floats, fresh: Floats, chunks: Floats, copies: Floats
) -> Passed:
    """Return what passed from `start` on for `lasted` ms, (n,) each, as far as the requests alone tell.

    What a request brings (fresh tokens, copies) is taken to be spread evenly over its own stretch.
    """
    tokens, copied = (_during(engine, start, lasted, brought) for brought in (fresh, copies))
    computing = lasted - copied
    alone = (fresh >= ALONE * tokens) & (chunks == 1) & (computing > 0)
    base = line(fresh[alone], computing[alone])[0] if int(alone.sum()) >= LEAST_ALONE else 0.0
    return Passed(lasted, tokens, copied, base)


def line(tokens: Floats, took: Floats) -> tuple[float, float]:
    """Return the level, at least 0, and slope of the least-squares line of ms over tokens."""
    spread = float(np.var(tokens))
    if spread == 0:
        return 0.0, 0.0
    slope = float(((tokens - tokens.mean()) * (took - took.mean())).mean()) / spread
    return max(0.0, float(took.mean()) - slope * float(tokens.mean())), slope


def _during(engine: Ints, start: Floats, lasted: Floats, brought: Floats) -> Floats:
    """Return (n,) how much of what all of an engine's requests `brought` falls into each one's stretch."""
    found = np.zeros(start.size)
    order = np.argsort(engine, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(engine[order])) + 1):
        if rows.size:
            found[rows] = _of_engine(start[rows], lasted[rows], brought[rows])
    return found


def _of_engine(start: Floats, lasted: Floats, brought: Floats) -> Floats:
    """Integrate the sum of the rates over each stretch, by prefix sums over all moments."""
    n = start.size
    rate = np.divide(brought, lasted, out=np.zeros(n), where=lasted > 0)
    moments = np.concatenate([start, start + lasted])
    order = np.argsort(moments, kind="stable")
    rates = np.cumsum(np.concatenate([rate, -rate])[order])
    area = np.concatenate([[0.0], np.cumsum(rates[:-1] * np.diff(moments[order]))])
    place = np.empty(2 * n, dtype=np.int64)
    place[order] = np.arange(2 * n)
    found: Floats = np.maximum(brought, area[place[n:]] - area[place[:n]])
    return found
