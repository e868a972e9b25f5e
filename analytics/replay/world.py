"""One window's requests with what can be changed about them, and how the engines then serve them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.replay.arrivals import Arrivals
from otel_attrib.analytics.replay.by_engine import by_engine
from otel_attrib.analytics.replay.engine import Demand, Engine, Limits, Served, serve
from otel_attrib.analytics.replay.step_cost import Passed, StepCost, own_speed, passed_between
from otel_attrib.analytics.replay.steps import Steps

__all__ = ["Undone", "World", "world_of"]

Floats = NDArray[np.float64]

QUICK = 0.1  # of requests, those whose tokens few prompts of others delayed


@dataclass(frozen=True)
class Undone:
    """What is spared: (n,) ms before the scheduler and in copies, shares of computing and decoding.

    computing: (n,) what the work is multiplied by. decoding: (engines,) what a step without prompts is.
    """

    before: Floats
    copies: Floats
    computing: Floats
    decoding: Floats

    @classmethod
    def nothing(cls, n: int, engines: int) -> "Undone":
        """Return what spares nothing."""
        return cls(np.zeros(n), np.zeros(n), np.ones(n), np.ones(engines))

    def beside(self, other: "Undone") -> "Undone":
        """Return what both spare."""
        return Undone(
            self.before + other.before,
            self.copies + other.copies,
            self.computing * other.computing,
            self.decoding * other.decoding,
        )


@dataclass(frozen=True)
class World:
    """Requests, the engine's work that each alone causes, and the engines.

    wait: (n,) from arrival at the scheduler to the first step, copies beside the engine not counted. stay:
    from there to the first token. speed, work: `step_cost.py`. residual: rest of a decode step at arrival.
    idle: (engines,) ms of a step without prompts. opens: when each engine let the first one in, 0 where it
    did not wait. occupied, taken: after how many steps from then on earlier requests leave, and the tokens of
    cache that they hold. blocking: copies hold the engine up; otherwise they run beside it and only delay
    their own request. timed: a seat is kept for as long as it was seen to be, whatever is computed meanwhile.
    stretch: of all work.
    """

    seen: Arrivals
    wait: Floats
    stay: Floats
    speed: Floats
    residual: Floats
    cost: StepCost
    idle: Floats
    occupied: dict[int, Floats]
    taken: dict[int, float]
    opens: dict[int, float]
    blocking: bool
    timed: bool = False
    stretch: float = 1.0

    @property
    def work(self) -> Floats:
        """Return (n,) ms of the engine that each request's own prompt takes."""
        return self.stretch * self.cost.slope[self.seen.engine] * self.speed * self.seen.fresh

    def serve(self, limits: dict[int, Limits], undone: Undone | None = None) -> Served:
        """Return how the engines serve these requests, less what is undone."""
        seen = self.seen
        less = undone or Undone.nothing(seen.n, self.idle.size)
        copies = np.maximum(0.0, seen.serving["kv_init"] - less.copies)
        none = np.zeros(seen.n)
        at = seen.at - less.before
        order = np.arange(seen.n) if undone is None else np.lexsort((at, seen.engine))
        demand = Demand(
            engine=seen.engine[order],
            at=at[order],
            work=(self.work * less.computing)[order],
            speed=(self.speed * less.computing)[order],
            blocking=(copies if self.blocking else none)[order],
            beside=(none if self.blocking else copies)[order],
            fresh=seen.fresh[order],
            held=seen.held[order],
            grows=seen.output[order],
            tokens=self._tokens(less.decoding)[order],
            residual=self.residual[order],
        )
        served = serve(demand, self._engines(limits, less.decoding))
        back = np.empty_like(order)
        back[order] = np.arange(order.size)
        return Served(served.waits[back], served.stays[back], served.gave_way[back])

    @property
    def pace(self) -> Floats:
        """Return (engines,) ms of a token: of steps without prompts, or, timed, of all that were seen."""
        return _per_token(self.seen, self.idle.size, 0.5) if self.timed else self.idle

    def _tokens(self, decoding: Floats) -> Floats:
        """Return (n,) steps from the first token to the last, or ms; from ms where nobody counted."""
        seen = self.seen
        if self.timed:
            return seen.holding * decoding[seen.engine]
        timed = seen.holding / np.maximum(self.idle[seen.engine], 1e-3)
        return np.where(seen.holding > 0, np.where(seen.output > 1, seen.output - 1, timed), 0.0)

    def _engines(self, limits: dict[int, Limits], decoding: Floats) -> dict[int, Engine]:
        found = {}
        for code in self.opens:
            found[code] = Engine(
                limits=limits.get(code, Limits()),
                idle=0.0 if self.timed else float(self.idle[code] * decoding[code]),
                base=float(self.cost.base[code]),
                per_decode=float(self.cost.per_decode[code]),
                per_idle=float(self.cost.per_idle[code]),
                opens=self.opens.get(code, 0.0),
                occupied=self.occupied.get(code, np.zeros(0)),
                taken=self.taken.get(code, 0.0),
                timed=self.timed,
            )
        return found


def world_of(
    seen: Arrivals, steps: Steps, engines: int, blocking: bool, cost: StepCost | None = None
) -> World:
    """Return the world of one window, its steps costing what those of another did, or what they cost.

    Where the first step of a request is known, what is recorded as queue after it (between chunks, or the
    scheduler's work in its own steps) is part of its stay.
    """
    copies = seen.serving["kv_init"]
    beside = np.zeros(seen.n) if blocking else copies
    first = steps.entered(seen) - seen.at - beside
    wait = np.where(np.isnan(first), seen.queue, np.clip(first, 0.0, seen.queue))
    stay = seen.queue - wait + seen.service - beside
    opens = {
        code: float((seen.at + beside + wait)[rows.start]) if wait[rows.start] > 0 else 0.0
        for code, rows in by_engine(seen.engine)
    }
    start, in_way = seen.at + beside + wait, copies - beside
    passed: Passed | None = None
    known = cost or steps.cost
    if known is not None:
        passed = steps.passed(seen, in_way, known)
    if passed is None:
        passed, known = passed_between(
            seen.engine, start, stay, seen.fresh, seen.chunks, in_way, known, engines
        )
    assert known is not None
    return World(
        seen,
        wait,
        stay,
        own_speed(passed),
        steps.rest_of_step(seen),
        known,
        _idle(seen, steps, engines, known),
        steps.earlier(seen, opens),
        steps.taken(seen, opens),
        opens,
        blocking,
    )


def _idle(seen: Arrivals, steps: Steps, engines: int, cost: StepCost) -> Floats:
    """Return (engines,) ms of a step without prompts: of the steps, else of the quickest tokens."""
    if steps.complete:
        return steps.idle(cost)
    return _per_token(seen, engines, QUICK)


def _per_token(seen: Arrivals, engines: int, level: float) -> Floats:
    """Return (engines,) a quantile of the requests' ms per token after the first."""
    found = np.full(engines, 1.0)
    some = (seen.output > 1) & (seen.holding > 0)
    for engine, own in by_engine(seen.engine):
        rows = own.start + np.flatnonzero(some[own])
        if rows.size:
            found[engine] = float(np.quantile(seen.holding[rows] / (seen.output[rows] - 1), level))
    return found
