"""The scheduler's own part: what was observed beyond what the engine's work explains.

Within the baseline that is the misfit of the model. It grows with the wait, so relative to it
(own / (replayed + scale)) the baseline's values are put, rank for rank, in the place of the current ones.
What the current window has beyond is the scheduler's own change, in ms, whatever the load. Of the time
in service the misfit is the ratio of observed to replayed, put back likewise.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.replay.engine import Served

__all__ = ["Own", "Times", "own_times"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Times:
    """What was observed of n requests: ms of waiting and of staying in service until the first token."""

    waits: Floats
    stays: Floats


@dataclass(frozen=True, slots=True)
class Own:
    """(n,) misfit relative to the replayed wait + `scale` ms, and ms that are the scheduler's change.

    ratio, ratio_before: (n,) observed over replayed stay, as it is and as at baseline.
    """

    misfit: Floats
    change: Floats
    ratio: Floats
    ratio_before: Floats
    scale: float

    def until_first_token(self, served: Served, changed: bool) -> Floats:
        """Return (n,) ms from arrival at the scheduler to first token, with or without its change."""
        waits = served.waits + self.misfit * (served.waits + self.scale)
        waits = np.maximum(0.0, waits + self.change if changed else waits)
        stays = served.stays * (self.ratio if changed else self.ratio_before)
        total: Floats = waits + stays
        return total


def own_times(observed: tuple[Times, Times], replayed: tuple[Served, Served]) -> Own:
    """Split the second window's own times into misfit as in the first and the scheduler's change."""
    (a, b), (model_a, model_b) = observed, replayed
    scale = float(np.median(a.stays)) or 1.0
    relative = (b.waits - model_b.waits) / (model_b.waits + scale)
    misfit = _as_before((a.waits - model_a.waits) / (model_a.waits + scale), relative)
    ratios = [
        np.divide(seen.stays, model.stays, out=np.ones_like(seen.stays), where=model.stays > 0)
        for seen, model in ((a, model_a), (b, model_b))
    ]
    change = (relative - misfit) * (model_b.waits + scale)
    return Own(misfit, change, ratios[1], _as_before(ratios[0], ratios[1]), scale)


def _as_before(before: Floats, now: Floats) -> Floats:
    """Return the baseline's values at the ranks of the current ones."""
    rank = np.empty(now.size)
    rank[np.argsort(now, kind="stable")] = np.arange(now.size) + 0.5
    place = rank / now.size * before.size - 0.5
    return np.interp(place, np.arange(before.size), np.sort(before))
