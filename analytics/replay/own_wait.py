"""The scheduler's own part of a wait: what was observed beyond what the engine's work explains.

Within the baseline it is the misfit of the model, which grows with the wait; relative to it
(own / (replayed + scale)) the baseline's values are put, rank for rank, in the place of the current
ones. What the current window has beyond that is the scheduler's own change, in ms, whatever the load.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["OwnWait", "own_wait"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class OwnWait:
    """(n,) misfit relative to the replayed wait + `scale` ms, and (n,) ms that are the scheduler's change."""

    misfit: Floats
    change: Floats
    scale: float

    def wait(self, replayed: Floats, changed: bool) -> Floats:
        """Return (n,) whole waits for replayed ones, with or without the scheduler's change; at least 0."""
        whole = replayed + self.misfit * (replayed + self.scale)
        return np.maximum(0.0, whole + self.change if changed else whole)


def own_wait(
    observed_a: Floats, replayed_a: Floats, observed_b: Floats, replayed_b: Floats, scale: float
) -> OwnWait:
    """Split B's own waits into misfit as in A and the scheduler's change; `wait` with both is what B saw."""
    relative_a = np.sort((observed_a - replayed_a) / (replayed_a + scale))
    relative_b = (observed_b - replayed_b) / (replayed_b + scale)
    rank = np.empty(relative_b.size)
    rank[np.argsort(relative_b, kind="stable")] = np.arange(relative_b.size) + 0.5
    place = rank / relative_b.size * relative_a.size - 0.5
    misfit = np.interp(place, np.arange(relative_a.size), relative_a)
    return OwnWait(misfit, (relative_b - misfit) * (replayed_b + scale), scale)
