"""The fleet's step loop run on from where it stood: `kernel.run` in stretches.

`kernel.run` serves a list of requests that is whole from the start. Here requests are added while the clock
goes on, so that a gate in front can hold them back by what was seen before; each step is the kernel's own.

Imported only where numba is installed.
"""

import numpy as np
from numba import njit

from otel_attrib.fleet.kernel import (
    _DONE,
    STEP,
    Work,
    _arrive,
    _batch,
    _describe,
    _desk,
    _finish_step,
    _next_event,
    _schedule,
    _time,
)

__all__ = ["Work", "advance", "desk"]

desk = _desk


@njit(cache=True)
def advance(work, desk, clock, count, starts, terms, until, released, tokens_at):
    """Run one replica up to `until` seconds, or until all `released` requests are done.

    `work.queued` holds the first `released` requests' times, ascending, and infinity behind them. `clock` is
    (now, duration of the step before) and `count` (steps done): both are kept up to date.
    """
    line = np.zeros(len(STEP))
    t, before, step = clock[0], clock[1], count[0]
    segment = 0
    while t < until and desk.count[_DONE] < released:
        while segment + 1 < starts.size and t >= starts[segment + 1]:
            segment += 1
        now = terms[segment]
        blocks = max(int(work.limits[2] * now[9]), work.limits[5])
        _arrive(work, desk, t)
        _schedule(work, desk, now, t, blocks)
        sizes = _batch(desk)
        if sizes[0] == 0:
            t = _next_event(work, desk, t)
            continue
        _time(work, now, sizes, step, before, line)
        _describe(desk, sizes, t, blocks, line)
        _finish_step(work, desk, step, line, tokens_at)
        before = line[1]
        t += before
        step += 1
    clock[0], clock[1], count[0] = t, before, step
