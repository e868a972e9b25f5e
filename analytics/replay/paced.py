"""The current requests, arriving as those of the baseline did: what tells heavier work from more of it.

On each engine the i-th request comes when the baseline's i-th did; after the last one its window begins anew.
Rate, bursts and the share of each engine are then the baseline's; the requests are not. Which request meets
which burst is chance, and near saturation a P99 hangs on it: so it is asked only where sizes changed.
"""

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.replay.arrivals import Arrivals
from otel_attrib.analytics.replay.by_engine import by_engine

__all__ = ["other_sizes", "paced_like"]

Floats = NDArray[np.float64]

LEAST = 0.02  # of a mean size
ERRORS = 3.0  # standard errors of it


def other_sizes(seen: Arrivals, before: Arrivals) -> bool:
    """Return whether prompts or outputs are of other sizes than before, beyond chance."""
    return any(_differs(*pair) for pair in ((before.prompt, seen.prompt), (before.output, seen.output)))


def _differs(old: Floats, new: Floats) -> bool:
    if not (old.size and new.size):
        return False
    error = float(np.sqrt(old.var() / old.size + new.var() / new.size))
    moved = abs(float(new.mean() - old.mean()))
    return moved > ERRORS * error and moved > LEAST * float(old.mean())


def paced_like(seen: Arrivals, before: Arrivals) -> Floats:
    """Return (n,) ms: arrivals of `seen` at the pace of `before`; as they were on engines new since then."""
    at = seen.at.copy()
    earlier = {code: before.at[rows] for code, rows in by_engine(before.engine)}
    whole = float(before.at.max()) if before.n else 0.0
    for code, rows in by_engine(seen.engine):
        pace = earlier.get(code)
        if pace is None or pace.size < 2 or whole <= 0:
            continue
        turn, place = np.divmod(np.arange(rows.stop - rows.start), pace.size)
        at[rows] = pace[place] + turn * whole
    return at
