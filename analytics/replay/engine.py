"""When a continuous-batching engine admits each request, given how long each one's service takes.

The engine works in steps. At the start of a step it takes waiting requests first come, first served,
while there is a seat (max_num_seqs), room in the KV cache and a rest of the step's token budget; a
prompt longer than the rest goes on in the next steps, before newcomers. A step lasts as long as the
work of the prompts in it; a request keeps its seat and its cache until its last token. One that
arrives while the engine only decodes waits for the rest of the step that runs.

A request's `work` is the engine's time that it alone takes: `shares.py` splits steps that were shared.
Sequential by nature: one pass over the requests, about a microsecond and a half each.
"""

from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf

import numpy as np
from numpy.typing import NDArray

__all__ = ["Demand", "Engine", "Limits", "Served", "serve"]

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

    work: the engine's time until the first token that the request alone takes, its copies in the way not
    among it. speed: what its steps' base is multiplied by. blocking: copies that hold the engine up.
    beside: copies that only its own request waits for, after it got its seat. fresh: prompt tokens to
    compute. held: tokens in the KV cache at the end. tokens: steps from the first token to the last.
    residual: how long a step runs on after an arrival that finds the engine decoding.
    """

    engine: Ints
    at: Floats
    work: Floats
    speed: Floats
    blocking: Floats
    beside: Floats
    fresh: Floats
    held: Floats
    tokens: Floats
    residual: Floats


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine: its limits, its steps, and what it was at when the first of the requests came.

    A step with prompts lasts max(idle, base · speed + Σ work) + per_decode · speed · sequences + copies, one
    without idle + per_decode · sequences. opens: when it lets the first one in. occupied: seats of earlier
    requests, which leave evenly over `lifetime` steps. timed: seats are kept for a time, `tokens` being ms,
    because it is not known how long a step without prompts takes.
    """

    limits: Limits = Limits()
    idle: float = 0.0
    base: float = 0.0
    per_decode: float = 0.0
    opens: float = 0.0
    occupied: int = 0
    lifetime: float = 0.0
    timed: bool = False


@dataclass(frozen=True, slots=True)
class Served:
    """(n,) ms from arrival to the first step, less copies beside the engine; and on to the first token."""

    waits: Floats
    stays: Floats


def serve(demand: Demand, engines: dict[int, Engine]) -> Served:
    """Return how the engines serve the demand."""
    waits, stays = np.empty(demand.at.size), np.empty(demand.at.size)
    edges = [0, *(np.flatnonzero(np.diff(demand.engine)) + 1).tolist(), demand.at.size]
    for first, last in zip(edges, edges[1:], strict=False):
        if first < last:
            engine = engines[int(demand.engine[first])]
            waits[first:last], stays[first:last] = _serve(demand, slice(first, last), engine)
    return Served(waits, stays)


def _serve(demand: Demand, rows: slice, engine: Engine) -> tuple[list[float], list[float]]:
    """Step through one engine; one function, for a call would double what a request costs.

    Time is kept twice, in ms and in steps: a request keeps its seat for a number of steps, however long
    the prompts of others make them.
    """
    # Lists: reading a number out of an array costs five times as much.
    at, work, speed = demand.at[rows].tolist(), demand.work[rows].tolist(), demand.speed[rows].tolist()
    blocking, beside = demand.blocking[rows].tolist(), demand.beside[rows].tolist()
    fresh, held = demand.fresh[rows].tolist(), demand.held[rows].tolist()
    tokens, residual = demand.tokens[rows].tolist(), demand.residual[rows].tolist()
    idle, base, per_decode = max(engine.idle, 1e-3), engine.base, engine.per_decode
    least = idle
    if engine.timed:
        idle, per_decode = 1.0, 0.0  # the clock of steps ticks in ms
    seats, cache, budget = engine.limits.seats, engine.limits.cache, engine.limits.budget
    n = len(at)
    entered, first_token = [0.0] * n, [0.0] * n
    spread = engine.lifetime / max(1, engine.occupied)
    # (step, cache tokens) of those past their first token, and (when copied, request).
    leaving: list[tuple[float, float]] = [(spread * (k + 1), 0.0) for k in range(engine.occupied)]
    loading: list[tuple[float, int]] = []
    partial: list[int] = []  # prompts that are not yet all computed, in order
    left: dict[int, float] = {}
    used, now, step, queued = 0.0, engine.opens, 0.0, 0
    while queued < n or partial or loading:
        if not partial and (queued == n or at[queued] > now) and (not loading or loading[0][0] > now):
            # Nothing to compute: on to the next that comes, from outside or from a copy.
            comes = queued if not loading or (queued < n and at[queued] < loading[0][0]) else loading[0][1]
            then = at[comes] if comes == queued else loading[0][0]
            step += (then - now) / (idle + per_decode * len(leaving))
            now = then
            while leaving and leaving[0][0] <= step:
                used -= heappop(leaving)[1]
            if leaving:
                now += residual[comes]
                step += residual[comes] if engine.timed else 1
        while leaving and leaving[0][0] <= step:
            used -= heappop(leaving)[1]
        decoding = len(leaving)
        running = decoding + len(partial) + len(loading)
        rest, works, copies, speeds = budget - decoding, 0.0, 0.0, 0.0  # who decodes takes a token each
        done: list[int] = []
        going: list[int] = []
        while loading and loading[0][0] <= now:
            request = heappop(loading)[1]
            entered[request], left[request] = now, fresh[request]
            partial.append(request)
        for request in partial:
            taken = min(rest, left[request])
            works += work[request] * taken / fresh[request]
            speeds += speed[request]
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
            if beside[queued] > 0:
                heappush(loading, (now + beside[queued], queued))
                queued += 1
                continue
            entered[queued] = now
            size = fresh[queued]
            taken = min(rest, size)
            works += work[queued] * taken / size
            copies += blocking[queued]
            speeds += speed[queued]
            rest -= taken
            left[queued] = size - taken
            (going if left[queued] > 0 else done).append(queued)
            queued += 1
        count = len(done) + len(going)
        if not count:
            # All that are there wait for a copy, a seat or room: on to the first to give it, or to come.
            then = loading[0][0] if loading else inf
            if queued < n and at[queued] > now:
                then = min(then, at[queued])
            elif leaving and queued < n:
                then = min(then, now + (leaving[0][0] - step) * (idle + per_decode * decoding))
            step += (then - now) / (idle + per_decode * decoding) + 1e-9
            now = then
            continue
        mean = speeds / count
        lasts = max(least, base * mean + works) + per_decode * mean * decoding + copies
        now += lasts
        step += lasts if engine.timed else 1
        for request in done:
            first_token[request] = now
            heappush(leaving, (step + tokens[request], held[request]))
        partial = going
    waits = [start - come - copy for start, come, copy in zip(entered, at, beside, strict=True)]
    stays = [end - start for end, start in zip(first_token, entered, strict=True)]
    return waits, stays
