"""When a continuous-batching engine admits each request, given how long each one's service takes.

The engine works in steps. At the start of a step it takes waiting requests first come, first served,
while there is a seat (max_num_seqs), room in the KV cache and a rest of the step's token budget; a
prompt longer than the rest goes on in the next steps, before newcomers. A step lasts as long as the
work of the prompts in it; a request keeps its seat and its cache until its last token. One that
arrives while the engine only decodes waits for the rest of the step that runs.

A request's `work` is the engine's time that it alone takes: `shares.py` splits steps that were shared.
Sequential by nature: one pass over the requests, about a microsecond and a half each.
"""

from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf

import numpy as np
from numpy.typing import NDArray

__all__ = ["Demand", "Limits", "Served", "serve"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Limits:
    """What an engine can hold at once: running requests, tokens of KV cache, prompt tokens of one step."""

    seats: float = inf
    cache: float = inf
    budget: float = inf


@dataclass(frozen=True, slots=True)
class Demand:
    """n requests in order of engine, then arrival `at` the scheduler; times in ms, (n,) each.

    work: the engine's time until the first token that the request alone takes. beside: copies that only its
    own request waits for, after it got its seat. holding: from the first token to the last. fresh: prompt
    tokens to compute. held: tokens in the KV cache at the end. residual: how long a step runs on after an
    arrival that finds the engine decoding. base: what every step with a prompt takes besides. opens: when
    an engine has done with earlier requests.
    """

    engine: Ints
    at: Floats
    work: Floats
    beside: Floats
    holding: Floats
    fresh: Floats
    held: Floats
    residual: Floats
    base: float = 0.0
    opens: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Served:
    """(n,) ms from arrival to the first step, less copies beside the engine; and on to the first token."""

    waits: Floats
    stays: Floats


def serve(demand: Demand, limits: dict[int, Limits]) -> Served:
    """Return how the engines serve the demand; an engine without limits has none."""
    waits, stays = np.empty(demand.at.size), np.empty(demand.at.size)
    edges = [0, *(np.flatnonzero(np.diff(demand.engine)) + 1).tolist(), demand.at.size]
    for first, last in zip(edges, edges[1:], strict=False):
        if first < last:
            own = limits.get(int(demand.engine[first]), Limits())
            waits[first:last], stays[first:last] = _serve(demand, slice(first, last), own)
    return Served(waits, stays)


def _serve(demand: Demand, rows: slice, limits: Limits) -> tuple[list[float], list[float]]:
    """Step through one engine; one function, for a call would double what a request costs."""
    # Lists: reading a number out of an array costs five times as much.
    at, work = demand.at[rows].tolist(), demand.work[rows].tolist()
    holding, residual = demand.holding[rows].tolist(), demand.residual[rows].tolist()
    fresh, held = demand.fresh[rows].tolist(), demand.held[rows].tolist()
    beside, base = demand.beside[rows].tolist(), demand.base
    n = len(at)
    entered, first_token = [0.0] * n, [0.0] * n
    leaving: list[tuple[float, float]] = []  # (when, cache tokens), of those past their first token
    loading: list[tuple[float, int]] = []  # (when copied, request)
    partial: list[int] = []  # prompts that are not yet all computed, in order
    left: dict[int, float] = {}
    seats, cache, budget = limits.seats, limits.cache, limits.budget
    used, now, queued = 0.0, demand.opens.get(int(demand.engine[rows.start]), 0.0), 0
    while queued < n or partial or loading:
        if not partial and (queued == n or at[queued] > now) and (not loading or loading[0][0] > now):
            # Nothing to compute: on to the next that comes, from outside or from a copy.
            comes = queued if not loading or (queued < n and at[queued] < loading[0][0]) else loading[0][1]
            now = at[comes] if comes == queued else loading[0][0]
            while leaving and leaving[0][0] <= now:
                used -= heappop(leaving)[1]
            if leaving:
                now += residual[comes]
        while leaving and leaving[0][0] <= now:
            used -= heappop(leaving)[1]
        running = len(leaving) + len(partial) + len(loading)
        rest, lasts = budget - len(leaving), base  # who decodes takes a token each
        done: list[int] = []
        going: list[int] = []
        while loading and loading[0][0] <= now:
            request = heappop(loading)[1]
            entered[request], left[request] = now, fresh[request]
            partial.append(request)
        for request in partial:
            taken = min(rest, left[request])
            lasts += work[request] * taken / fresh[request]
            rest -= taken
            left[request] -= taken
            (going if left[request] > 0 else done).append(request)
        while (
            queued < n
            and rest > 0
            and at[queued] <= now
            and running < seats
            and (used + held[queued] <= cache or running == 0)
        ):
            running += 1
            used += held[queued]
            size = fresh[queued]
            if beside[queued] > 0:
                heappush(loading, (now + beside[queued], queued))
            elif size <= rest:
                entered[queued] = now
                rest -= size
                lasts += work[queued]
                done.append(queued)
            else:
                entered[queued] = now
                lasts += work[queued] * rest / size
                left[queued] = size - rest
                rest = 0.0
                going.append(queued)
            queued += 1
        if not done and not going:
            # All that are there wait for a copy, a seat or room; the first to give it comes next.
            free = [leaving[0][0]] if leaving and queued < n and at[queued] <= now else []
            free += [loading[0][0]] if loading else []
            now = min(free) if free else now
            continue
        now += lasts
        for request in done:
            first_token[request] = now
            heappush(leaving, (now + holding[request], held[request]))
        partial = going
    waits = [start - come - copy for start, come, copy in zip(entered, at, beside, strict=True)]
    stays = [end - start for end, start in zip(first_token, entered, strict=True)]
    return waits, stays
