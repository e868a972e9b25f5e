"""One window's requests with what can be changed about them, and the waits that follow from it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.replay.arrivals import UNTIL_FIRST_TOKEN, Arrivals
from otel_attrib.analytics.replay.engine import Demand, Limits, replay_waits
from otel_attrib.analytics.replay.shares import own_share

__all__ = ["World", "world_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """Requests with their share of the engine's time and the rest of the step each arrival meets."""

    seen: Arrivals
    share: Floats
    residual: Floats

    def waits(
        self,
        limits: dict[int, Limits],
        serving: Mapping[str, Floats] | None = None,
        holding: Floats | None = None,
        sooner: Floats | None = None,
    ) -> Floats:
        """Return (n,) replayed waits in ms, given other service times than those seen.

        serving: stages between admission and first token. holding: ms from first token to last.
        sooner: how much earlier each arrives at the scheduler.
        """
        seen = self.seen
        stages = {**seen.serving, **(serving or {})}
        work = self.share * np.sum([stages[name] for name in UNTIL_FIRST_TOKEN], axis=0)
        at = seen.at if sooner is None else seen.at - sooner
        order = np.lexsort((at, seen.engine))
        demand = Demand(
            engine=seen.engine[order],
            at=at[order],
            work=work[order],
            holding=(seen.holding if holding is None else holding)[order],
            fresh=seen.fresh[order],
            held=seen.held[order],
            residual=self.residual[order],
        )
        waits = np.empty(seen.n)
        waits[order] = replay_waits(demand, limits)
        return waits


def world_of(seen: Arrivals, residual: Floats) -> World:
    """Return the world of one window."""
    return World(seen, own_share(seen.engine, seen.admitted, seen.service), residual)
