"""One window's requests with what can be changed about them, and how the engines then serve them."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.replay.arrivals import Arrivals
from otel_attrib.analytics.replay.engine import Demand, Limits, Served, serve
from otel_attrib.analytics.replay.shares import own_work, passed_between
from otel_attrib.analytics.replay.steps import Steps

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

    wait: (n,) from arrival at the scheduler to the first step, copies beside the engine not counted. stay:
    from there to the first token. blocking: copies hold the engine up; otherwise they run beside it and only
    delay their own request.
    """

    seen: Arrivals
    wait: Floats
    stay: Floats
    computing: Floats
    base: float
    residual: Floats
    blocking: bool

    def serve(self, limits: dict[int, Limits], undone: Undone | None = None) -> Served:
        """Return how the engines serve these requests, less what is undone."""
        seen = self.seen
        less = undone or Undone.nothing(seen.n)
        copies = np.maximum(0.0, seen.serving["kv_init"] - less.copies)
        work = np.maximum(0.0, self.computing - less.computing) + (copies if self.blocking else 0.0)
        at = seen.at - less.before
        order = np.lexsort((at, seen.engine))
        demand = Demand(
            engine=seen.engine[order],
            at=at[order],
            work=work[order],
            beside=np.zeros(seen.n) if self.blocking else copies[order],
            holding=np.maximum(0.0, seen.holding - less.decoding)[order],
            fresh=seen.fresh[order],
            held=seen.held[order],
            residual=self.residual[order],
            base=self.base,
            opens=self._opens(),
        )
        served = serve(demand, limits)
        back = np.empty_like(order)
        back[order] = np.arange(order.size)
        return Served(served.waits[back], served.stays[back])

    def _opens(self) -> dict[int, float]:
        """Return when each engine let the first of these requests in: until then it served earlier ones."""
        seen = self.seen
        first = np.unique(seen.engine, return_index=True)[1]
        beside = 0.0 if self.blocking else seen.serving["kv_init"]
        entered = seen.at + beside + self.wait
        return {int(seen.engine[i]): float(entered[i]) for i in first if self.wait[i] > 0}


def world_of(seen: Arrivals, steps: Steps, blocking: bool, base: float | None = None) -> World:
    """Return the world of one window; its steps' own base, or that of another window.

    Where the first step of a request is known, what is recorded as queue after it (between chunks, or the
    scheduler's work in its own steps) is part of its stay.
    """
    copies = seen.serving["kv_init"]
    beside = np.zeros(seen.n) if blocking else copies
    first = steps.entered(seen) - seen.at - beside
    wait = np.where(np.isnan(first), seen.queue, np.clip(first, 0.0, seen.queue))
    stay = seen.queue - wait + seen.service - beside
    passed = steps.passed(seen, copies - beside) or passed_between(
        seen.engine, seen.at + beside + wait, stay, seen.fresh, seen.chunks, copies - beside
    )
    passed = passed if base is None else replace(passed, base=base)
    computing = own_work(passed, seen.fresh, seen.chunks)
    return World(seen, wait, stay, computing, passed.base, steps.rest_of_step(seen), blocking)
