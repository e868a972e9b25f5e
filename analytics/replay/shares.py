"""What each request's prompt took of the engine, when steps computed several prompts at once.

Prompts computed in one step all see the whole step as their prefill. At each moment the engine's time
is therefore split equally among the requests between admission and first token; the parts of an engine
add up to the time in which it had any prompt to compute.

Copies that hold the engine up are known request by request. They are taken off first: of each stretch
in which the engine is never without a prompt, the copies are their requests' own and the rest is split.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["own_work"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def own_work(engine: Ints, start: Floats, service: Floats, copies: Floats) -> Floats:
    """Return (n,) ms of computing that each request alone accounts for, its `copies` not included.

    start: when each was admitted. service: ms from there to the first token, copies included.
    """
    order = np.argsort(engine, kind="stable")
    edges = np.flatnonzero(np.diff(engine[order])) + 1
    work = np.zeros(start.size)
    for rows in np.split(order, edges):
        if rows.size:
            work[rows] = _of_engine(start[rows], service[rows], copies[rows])
    return work


def _of_engine(start: Floats, service: Floats, copies: Floats) -> Floats:
    """Integrate 1/(requests in service) over each one's, by prefix sums over all moments."""
    n = start.size
    moments = np.concatenate([start, start + service])
    change = np.concatenate([np.ones(n), -np.ones(n)])
    order = np.lexsort((-change, moments))
    beside = np.cumsum(change[order])
    length = np.diff(moments[order], append=moments[order][-1])
    before = np.concatenate([[0.0], np.cumsum(length / np.maximum(beside, 1.0) * (beside > 0))])
    place = np.empty(2 * n, dtype=np.int64)
    place[order] = np.arange(2 * n)
    own = before[place[n:]] - before[place[:n]]
    stretch = np.concatenate([[0], np.cumsum(beside == 0)])[place[:n]]
    copied = np.bincount(stretch, weights=copies)[stretch]
    whole = np.bincount(stretch, weights=own)[stretch]
    left = np.divide(whole - copied, whole, out=np.ones_like(whole), where=whole > 0)
    work: Floats = own * np.clip(left, 0.0, 1.0)
    return work
