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
    grows: Floats,
    tokens: Floats,
    residual: Floats,
    limits: tuple[float, float, float, bool],
    costs: tuple[float, float, float, float],
    start: tuple[float, float, float],
    occupied: Floats,
    timed: bool,
) -> tuple[Floats, Floats, Floats]:
    """Return (n,) ms of each request's first step and first token, and how often it had to give way.

    The arrays are those of `engine.Demand`, of one engine and in order of arrival. `limits` are seats,
    cache, budget and growing; `costs` the engine's idle, base, per_decode and per_idle; `start` its opens
    and taken, and tokens a step; `occupied` too is the engine's; see `engine.Engine`. One function, for a
    call in plain Python would double what a request costs. Time is kept twice, in ms and in steps: a request
    keeps its seat for a number of steps, however long the prompts of others make them.
    """
    seats, cache, budget, growing = limits
    least, base, per_decode, per_idle = costs
    now, before, pace_before = start
    idle = least
    if timed:
        idle, per_decode, per_idle = 1.0, 0.0, 0.0  # the clock of steps ticks in ms
    n = at.size
    entered, first_token, gave_way = np.zeros(n), np.zeros(n), np.zeros(n)
    left, remain = np.zeros(n), tokens.copy()  # tokens to compute; steps from the next token to the last
    level, since, end = np.zeros(n), np.zeros(n), np.full(n, -1.0)  # cache at step `since`; −1: not decoding
    if not growing:
        before = pace_before = 0.0
    before /= max(1, occupied.size)
    # (step, request) of those past their first token, −1 an earlier one's; and (when copied, request).
    leaving = [(occupied[k], -1) for k in range(occupied.size)]  # ascending, so a heap
    loading = [(0.0, 0) for _ in range(0)]
    partial = [0 for _ in range(0)]  # prompts that are not yet all computed, in order
    done = [0 for _ in range(0)]
    again = [0 for _ in range(0)]  # who gave way, the last one first in the queue
    order = [0 for _ in range(0)]  # who was let in, the newest last; some of them have left
    decoding, used, step, queued = occupied.size, before * occupied.size, 0.0, 0
    growth = pace_before * occupied.size
    while queued < n or len(partial) > 0 or len(loading) > 0 or len(again) > 0:
        if (
            len(partial) == 0
            and len(again) == 0
            and (queued == n or at[queued] > now)
            and (len(loading) == 0 or loading[0][0] > now)
        ):
            # Nothing to compute: on to the next that comes, from outside or from a copy.
            if len(loading) == 0 or (queued < n and at[queued] < loading[0][0]):
                comes, then = queued, at[queued]
            else:
                then, comes = loading[0]
            pace = idle + per_idle * decoding
            full = np.inf
            if growth > 0.0:
                full = now + max(1.0, (cache - used) / growth) * pace
            passed = (min(then, full) - now) / pace
            now = min(then, full)
            step += passed
            used += growth * passed
            while len(leaving) > 0 and leaving[0][0] <= step:
                ended, request = heappop(leaving)
                if request < 0:
                    used -= before + pace_before * step
                    growth -= pace_before
                    decoding -= 1
                elif end[request] == ended:
                    rate = grows[request] / tokens[request] if growing and tokens[request] > 0.0 else 0.0
                    used -= level[request] + rate * (step - since[request])
                    growth -= rate
                    end[request] = -1.0
                    decoding -= 1
            if decoding > 0 and then <= full:
                now += residual[comes]
                passed = residual[comes] / pace
                step += passed
                used += growth * passed
        while len(leaving) > 0 and leaving[0][0] <= step:
            ended, request = heappop(leaving)
            if request < 0:
                used -= before + pace_before * step
                growth -= pace_before
                decoding -= 1
            elif end[request] == ended:
                rate = grows[request] / tokens[request] if growing and tokens[request] > 0.0 else 0.0
                used -= level[request] + rate * (step - since[request])
                growth -= rate
                end[request] = -1.0
                decoding -= 1
        if decoding == 0:
            growth = 0.0
            if len(partial) == 0 and len(loading) == 0:
                used = 0.0  # nothing is kept, not even what rounding left
        stalled = False
        if growing:
            due = growth
            asked = 0.0
            for request in partial:
                if beside[request] <= 0.0 or gave_way[request] > 0.0:
                    asked += left[request]
            while used + due + min(asked, budget - decoding) > cache and decoding + len(partial) > 1:
                # No room for the tokens of this step: the newest one gives way and starts over.
                request = -1
                while len(order) > 0 and request < 0:
                    request = order.pop()
                    if end[request] < 0.0 and left[request] <= 0.0:
                        request = -1  # has left
                if request < 0:
                    break
                stalled = True
                gave_way[request] += 1.0
                if end[request] >= 0.0:
                    rate = grows[request] / tokens[request] if tokens[request] > 0.0 else 0.0
                    keeps = level[request] + rate * (step - since[request])
                    used -= keeps
                    growth -= rate
                    due = growth
                    decoding -= 1
                    remain[request] = end[request] - step
                    end[request] = -1.0
                    left[request] = keeps
                else:
                    if beside[request] <= 0.0 or gave_way[request] > 1.0:
                        asked -= left[request]
                    used -= level[request]
                    partial.remove(request)
                    left[request] = level[request] + left[request]
                level[request] = 0.0
                again.append(request)
        running = decoding + len(partial) + len(loading)
        rest, works, copies, speeds = budget - decoding, 0.0, 0.0, 0.0  # who decodes takes a token each
        while len(loading) > 0 and loading[0][0] <= now:
            request = heappop(loading)[1]
            entered[request], left[request] = now, fresh[request]
            order.append(request)
            partial.append(request)
        done.clear()
        count = kept = 0
        for request in partial:
            taken = min(rest, left[request])
            works += work[request] * taken / fresh[request]
            speeds += speed[request]
            rest -= taken
            left[request] -= taken
            if growing and (beside[request] <= 0.0 or gave_way[request] > 0.0):
                level[request] += taken
                used += taken
            count += 1
            if left[request] > 0:
                partial[kept] = request
                kept += 1
            else:
                done.append(request)
        while len(partial) > kept:
            partial.pop()
        while rest > 0 and running < seats and not stalled:
            if len(again) > 0:
                request, size, found = again[-1], left[again[-1]], 0.0
            elif queued < n and at[queued] <= now:
                request, size = queued, fresh[queued]
                found = max(0.0, held[queued] - grows[queued] - size)
            else:
                break
            first = len(again) == 0
            copied = first and beside[request] > 0
            taken = min(rest, size)
            need = held[request]
            if growing:
                need = found + (size if copied else taken)
            if used + growth + need > cache and running > 0:
                break
            running += 1
            used += need
            level[request] = need
            if first:
                queued += 1
            else:
                again.pop()
            if copied:
                heappush(loading, (now + beside[request], request))
                continue
            if first:
                entered[request] = now
                copies += blocking[request]
            works += work[request] * taken / fresh[request]
            speeds += speed[request]
            rest -= taken
            left[request] = size - taken
            order.append(request)
            count += 1
            if left[request] > 0:
                partial.append(request)
            else:
                done.append(request)
        if count == 0:
            # All that are there wait for a copy, a seat or room: on to the first to give it, or to come.
            pace = idle + per_idle * decoding
            then = loading[0][0] if len(loading) > 0 else np.inf
            if queued < n and at[queued] > now:
                then = min(then, at[queued])
            if len(leaving) > 0 and (len(again) > 0 or queued < n and at[queued] <= now):
                then = min(then, now + (leaving[0][0] - step) * pace)
            if growth > 0.0:
                then = min(then, now + max(1.0, (cache - used) / growth) * pace)
            if stalled:
                then = min(then, now + pace)
            passed = (then - now) / pace + 1e-9
            step += passed
            used += growth * passed
            now = then
            continue
        mean = speeds / count
        computing = base * mean + works + per_decode * mean * decoding
        lasts = max(least + per_idle * decoding, computing) + copies
        now += lasts
        passed = lasts if timed else 1.0
        step += passed
        used += growth * passed
        for request in done:
            if first_token[request] == 0.0:
                first_token[request] = now
            end[request] = step + remain[request]
            since[request] = step
            if growing and tokens[request] > 0.0:
                growth += grows[request] / tokens[request]
            decoding += 1
            heappush(leaving, (end[request], request))
    return entered, first_token, gave_way
