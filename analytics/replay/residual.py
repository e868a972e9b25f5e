"""How long the running step goes on after a request arrives at an engine that only decodes."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from otel_attrib.analytics.replay.arrivals import Arrivals, engine_names

__all__ = ["residual_of"]

Floats = NDArray[np.float64]


def residual_of(seen: Arrivals, steps: pa.Table, engines: dict[str, int]) -> Floats:
    """Return (n,) ms: up to the next step's start where steps were recorded, else half a token's time."""
    rest = _half_a_step(seen)
    if len(steps) == 0:
        return rest
    start = pc.cast(steps["time"], pa.int64()).to_numpy(zero_copy_only=False).astype(np.int64)
    start_ms = (start - seen.zero_us) / 1000
    lasted = pc.cast(steps["duration_us"], pa.float64()).to_numpy(zero_copy_only=False) / 1000
    code = np.array([engines.get(name, -1) for name in engine_names(steps)], dtype=np.int64)
    for engine in np.unique(seen.engine):
        rows, own = np.flatnonzero(seen.engine == engine), code == engine
        if own.any():
            rest[rows] = _to_next_step(seen.at[rows], start_ms[own], lasted[own], rest[rows])
    return rest


def _to_next_step(at: Floats, start: Floats, lasted: Floats, otherwise: Floats) -> Floats:
    """Return the rest of the step that each arrival falls into, `otherwise` where it falls into none."""
    order = np.argsort(start, kind="stable")
    start, end = start[order], (start + lasted)[order]
    place = np.searchsorted(start, at, side="right") - 1
    inside = (place >= 0) & (at < end[place])
    rest: Floats = np.where(inside, end[place] - at, 0.0)
    return np.where(np.isnan(rest), otherwise, rest)


def _half_a_step(seen: Arrivals) -> Floats:
    """Return half the engine's median time per token: the mean rest of a step met at random."""
    after = np.maximum(1.0, seen.output - 1)
    rest = np.zeros(seen.n)
    for engine in np.unique(seen.engine):
        rows = np.flatnonzero((seen.engine == engine) & (seen.output > 1))
        if rows.size:
            rest[seen.engine == engine] = float(np.median(seen.holding[rows] / after[rows])) / 2
    return rest
