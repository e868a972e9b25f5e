"""One engine's admission, step by step: a plain function, which runs as it stands and compiles with numba.

Nothing here loads the compiler: `compiled.py` does, once a replay is needed. Sequential by nature: one
pass over the requests, a fifth of a microsecond each when compiled, three as plain Python.
"""

from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

__all__ = ["admit"]

Floats = NDArray[np.float64]


def admit(
    at: Floats,
    work: Floats,
    speed: Floats,
    blocking: Floats,
    beside: Floats,
    fresh: Floats,
    held: Floats,
    tokens: Floats,
    residual: Floats,
    limits: tuple[float, float, float],
    costs: tuple[float, float, float],
    start: tuple[float, int, float],
    timed: bool,
) -> tuple[Floats, Floats]:
    """Return (n,) ms at which each request entered its first step, and at which its first token was there.

    The arrays are those of `engine.Demand`, of one engine and in order of arrival. `limits` are seats,
    cache and budget; `costs` the engine's idle, base and per_decode; `start` its opens, occupied and
    lifetime; see `engine.Engine`. One function, for a call in plain Python would double what a request
    costs. Time is kept twice, in ms and in steps: a request keeps its seat for a number of steps, however
    long the prompts of others make them.
    """
    seats, cache, budget = limits
    least, base, per_decode = costs
    now, occupied, lifetime = start
    idle = least
    if timed:
        idle, per_decode = 1.0, 0.0  # the clock of steps ticks in ms
    n = at.size
    entered, first_token, left = np.zeros(n), np.zeros(n), np.zeros(n)
    spread = lifetime / max(1, occupied)
    # (step, cache tokens) of those past their first token, and (when copied, request).
    leaving = [(spread * (k + 1), 0.0) for k in range(occupied)]
    loading = [(0.0, 0) for _ in range(0)]
    partial = [0 for _ in range(0)]  # prompts that are not yet all computed, in order
    done = [0 for _ in range(0)]
    used, step, queued = 0.0, 0.0, 0
    while queued < n or len(partial) > 0 or len(loading) > 0:
        if (
            len(partial) == 0
            and (queued == n or at[queued] > now)
            and (len(loading) == 0 or loading[0][0] > now)
        ):
            # Nothing to compute: on to the next that comes, from outside or from a copy.
            if len(loading) == 0 or (queued < n and at[queued] < loading[0][0]):
                comes, then = queued, at[queued]
            else:
                then, comes = loading[0]
            step += (then - now) / (idle + per_decode * len(leaving))
            now = then
            while len(leaving) > 0 and leaving[0][0] <= step:
                used -= heappop(leaving)[1]
            if len(leaving) > 0:
                now += residual[comes]
                step += residual[comes] if timed else 1.0
        while len(leaving) > 0 and leaving[0][0] <= step:
            used -= heappop(leaving)[1]
        decoding = len(leaving)
        running = decoding + len(partial) + len(loading)
        rest, works, copies, speeds = budget - decoding, 0.0, 0.0, 0.0  # who decodes takes a token each
        while len(loading) > 0 and loading[0][0] <= now:
            request = heappop(loading)[1]
            entered[request], left[request] = now, fresh[request]
            partial.append(request)
        done.clear()
        count = kept = 0
        for request in partial:
            taken = min(rest, left[request])
            works += work[request] * taken / fresh[request]
            speeds += speed[request]
            rest -= taken
            left[request] -= taken
            count += 1
            if left[request] > 0:
                partial[kept] = request
                kept += 1
            else:
                done.append(request)
        while len(partial) > kept:
            partial.pop()
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
            count += 1
            if left[queued] > 0:
                partial.append(queued)
            else:
                done.append(queued)
            queued += 1
        if count == 0:
            # All that are there wait for a copy, a seat or room: on to the first to give it, or to come.
            then = loading[0][0] if len(loading) > 0 else np.inf
            if queued < n and at[queued] > now:
                then = min(then, at[queued])
            elif len(leaving) > 0 and queued < n:
                then = min(then, now + (leaving[0][0] - step) * (idle + per_decode * decoding))
            step += (then - now) / (idle + per_decode * decoding) + 1e-9
            now = then
            continue
        mean = speeds / count
        lasts = max(least, base * mean + works) + per_decode * mean * decoding + copies
        now += lasts
        step += lasts if timed else 1.0
        for request in done:
            first_token[request] = now
            heappush(leaving, (step + tokens[request], held[request]))
    return entered, first_token
