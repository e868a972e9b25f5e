"""Who the engine worked for: each request's own share of the steps that computed several prompts.

Prompts computed in one step all see the whole step as their prefill. At each moment the engine's time
is therefore split equally among the requests between admission and first token; the shares of an
engine add up to the time in which it had any prompt to compute.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["own_share"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def own_share(engine: Ints, start: Floats, service: Floats) -> Floats:
    """Return (n,) in 0…1: the part of its service for which each request alone accounts."""
    order = np.argsort(engine, kind="stable")
    edges = np.flatnonzero(np.diff(engine[order])) + 1
    share = np.ones(start.size)
    for rows in np.split(order, edges):
        share[rows] = _of_engine(start[rows], service[rows])
    return share


def _of_engine(start: Floats, service: Floats) -> Floats:
    """Integrate 1/(requests in prefill) over each one's service, by prefix sums over all moments."""
    moments = np.concatenate([start, start + service])
    change = np.concatenate([np.ones(start.size), -np.ones(start.size)])
    order = np.lexsort((-change, moments))
    beside = np.cumsum(change[order])
    length = np.diff(moments[order], append=moments[order][-1])
    split = np.divide(length, beside, out=np.zeros_like(length), where=beside > 0)
    before = np.concatenate([[0.0], np.cumsum(split)])
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    own = before[place[start.size :]] - before[place[: start.size]]
    share: Floats = np.divide(own, service, out=np.ones_like(own), where=service > 0)
    return np.clip(share, 0.0, 1.0)
