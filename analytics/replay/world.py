"""One window's requests with what can be changed about them, and how the engines then serve them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.replay.arrivals import Arrivals
from otel_attrib.analytics.replay.engine import Demand, Limits, Served, serve
from otel_attrib.analytics.replay.shares import own_work

__all__ = ["Undone", "World", "world_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Undone:
    """(n,) ms that each request is spared: before the scheduler, in copies, computing, decoding."""

    before: Floats
    copies: Floats
    computing: Floats
    decoding: Floats

    @classmethod
    def nothing(cls, n: int) -> "Undone":
        """Return what spares nothing."""
        return cls(*(np.zeros(n) for _ in range(4)))


@dataclass(frozen=True)
class World:
    """Requests, the computing that each alone causes, and the rest of the step each arrival meets.

    blocking: copies hold the engine up; otherwise they run beside it and only delay their own request.
    """

    seen: Arrivals
    computing: Floats
    residual: Floats
    blocking: bool

    def serve(self, limits: dict[int, Limits], undone: Undone | None = None) -> Served:
        """Return how the engines serve these requests, less what is undone."""
        seen = self.seen
        less = undone or Undone.nothing(seen.n)
        copies = np.maximum(0.0, seen.serving["kv_init"] - less.copies)
        work = np.maximum(0.0, self.computing - less.computing) + (copies if self.blocking else 0.0)
        at = seen.at - less.before + (0.0 if self.blocking else copies)
        order = np.lexsort((at, seen.engine))
        demand = Demand(
            engine=seen.engine[order],
            at=at[order],
            work=work[order],
            holding=np.maximum(0.0, seen.holding - less.decoding)[order],
            fresh=seen.fresh[order],
            held=seen.held[order],
            residual=self.residual[order],
        )
        served = serve(demand, limits)
        back = np.empty_like(order)
        back[order] = np.arange(order.size)
        return Served(served.waits[back], served.stays[back])


def world_of(seen: Arrivals, residual: Floats, blocking: bool) -> World:
    """Return the world of one window."""
    copies = seen.serving["kv_init"]
    start, service = seen.admitted, seen.service
    if not blocking:
        start, service, copies = start + copies, service - copies, np.zeros(seen.n)
    return World(seen, own_work(seen.engine, start, service, copies), residual, blocking)
