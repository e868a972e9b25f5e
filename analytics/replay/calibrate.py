"""The model of the engine that fits best, and both windows ready to be replayed in it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import inf

import numpy as np

from otel_attrib.analytics.period import Period
from otel_attrib.analytics.replay.arrivals import Arrivals, arrivals_of, sequence_of_engines
from otel_attrib.analytics.replay.by_engine import by_engine
from otel_attrib.analytics.replay.engine import Limits, Served
from otel_attrib.analytics.replay.gate import Fit, fit_of
from otel_attrib.analytics.replay.limits import ceilings_of
from otel_attrib.analytics.replay.steps import Steps, steps_of
from otel_attrib.analytics.replay.world import World, world_of

__all__ = ["Calibrated", "calibrate"]

BUDGETS = tuple(float(2**power) for power in range(9, 15))
STRETCHES = (0.95, 1.03, 1.06, 1.1, 1.15, 1.2)
HIGHER = 1.1
TRIAL = 5_000
GOOD = 0.95
BETTER = 0.005  # a further limit has to earn its place: R² that much higher


@dataclass(frozen=True)
class Calibrated:
    """Both worlds, the engines' limits, and how well the baseline's waits were replayed."""

    baseline: World
    current: World
    limits: dict[int, Limits]
    replayed: Served
    fit: Fit


@dataclass(frozen=True, slots=True)
class _Choice:
    """One model: which limits bind, whether copies hold the engine up, the rest of `World`."""

    seats: bool = False
    cache: bool = False
    growing: bool = False
    budget: float = inf
    blocking: bool = True
    timed: bool = False
    stretch: float = 1.0


def calibrate(baseline: Period, current: Period) -> Calibrated:
    """Choose the model on the baseline; the current window may raise limits, never lower them.

    What the baseline cannot tell (copies too short to hold anyone up) the current window decides.
    """
    engines = sequence_of_engines(baseline.requests, current.requests)
    bench = _Bench.of(baseline, current, engines)
    trial = bench.some_engines()
    best = trial.best()
    limits = bench.limits(best, both=True)
    a, b = bench.world(0, best), bench.world(1, best)
    replayed = a.serve(bench.limits(best, both=False))
    if baseline.window.bounds_us()["to_us"] == current.window.bounds_us()["from_us"]:
        left = _left_over(a, replayed, b)
        b = replace(b, opens={code: min(at, left.get(code, at)) for code, at in b.opens.items()})
    return Calibrated(a, b, limits, replayed, bench.fit(0, best))


def _left_over(a: World, replayed: Served, b: World) -> dict[int, float]:
    """Return when each engine has let in the last request of a window that the other one follows, ms there.

    When it did so, as observed, is what the second window's own change made of it.
    """
    since = (b.seen.zero_us - a.seen.zero_us) / 1000
    beside = 0.0 if a.blocking else a.seen.serving["kv_init"]
    entered = a.seen.at + replayed.waits + beside - since
    return {code: float(entered[rows].max()) for code, rows in by_engine(a.seen.engine)}


def _limits(best: _Choice) -> Iterator[_Choice]:
    """Seats and cache, the fewest first; cache taken as it is needed, or set aside at admission."""
    for seats, cache in sorted(product((False, True), repeat=2), key=sum):
        for growing in (True, False) if cache else (False,):
            yield replace(best, seats=seats, cache=cache, growing=growing)


class _Bench:
    """Both windows, and how well each choice replays them."""

    def __init__(
        self, seen: tuple[Arrivals, ...], steps: tuple[Steps, ...], length_ms: tuple[float, ...], engines: int
    ) -> None:
        self.engines, self.seen, self.steps, self.length_ms = engines, seen, steps, length_ms
        self.ceilings = tuple(ceilings_of(*side, engines) for side in zip(seen, steps, strict=True))
        self._fits: dict[tuple[int, _Choice, bool], Fit] = {}
        self._worlds: dict[tuple[int, bool], World] = {}

    @classmethod
    def of(cls, baseline: Period, current: Period, engines: dict[str, int]) -> "_Bench":
        """Read both windows."""
        windows = baseline, current
        seen = tuple(arrivals_of(window.requests, engines) for window in windows)
        steps = tuple(
            steps_of(window.steps, engines, own.zero_us) for window, own in zip(windows, seen, strict=True)
        )
        length = tuple(
            window.window.bounds_us()["to_us"] / 1000 - own.zero_us / 1000
            for window, own in zip(windows, seen, strict=True)
        )
        return cls(seen, steps, length, len(engines))

    def some_engines(self) -> "_Bench":
        """Return whole engines with TRIAL requests of the baseline, or all: the choice needs no more."""
        counted = np.bincount(self.seen[0].engine, minlength=self.engines)
        chosen = np.arange(self.engines)[: int(np.searchsorted(np.cumsum(counted), TRIAL)) + 1]
        if chosen.size == self.engines:
            return self
        seen = tuple(side.of_engines(chosen) for side in self.seen)
        return _Bench(seen, self.steps, self.length_ms, self.engines)

    def structures(self, best: _Choice) -> Iterator[_Choice]:
        """Return budgets (the one that the steps show, or the usual ones), copies in the way and beside."""
        shown = self.steps[0].budget
        copied = any(bool((seen.serving["kv_init"] > 0).any()) for seen in self.seen)
        budgets = (inf, shown) if shown else (inf, *BUDGETS)
        for budget in (shown,) if self.steps[0].budget_stood else budgets:
            for blocking in (True, False) if copied else (best.blocking,):
                yield replace(best, budget=budget, blocking=blocking)

    def stretches(self, best: _Choice) -> Iterator[_Choice]:
        """Return how much longer than the requests show the engine may have worked, where no step says it."""
        if self.steps[0].n == 0:
            for stretch in (1.0, *STRETCHES):
                yield replace(best, stretch=stretch)

    def world(self, side: int, choice: _Choice) -> World:
        """Return the baseline's (0) or the current (1) world."""
        key = side, choice.blocking
        if key not in self._worlds:
            cost = self.world(0, replace(choice, stretch=1.0)).cost if side else None
            found = world_of(self.seen[side], self.steps[side], self.engines, choice.blocking, cost)
            self._worlds[key] = found
        return replace(self._worlds[key], stretch=choice.stretch, timed=choice.timed)

    def limits(self, choice: _Choice, both: bool) -> dict[int, Limits]:
        """Return each engine's limits as the baseline, or either window, reached them."""
        ceilings = self.ceilings[0].joined(self.ceilings[1]) if both else self.ceilings[0]
        return ceilings.limits(choice.seats, choice.cache, choice.growing, choice.budget)

    def fit(self, side: int, choice: _Choice, both: bool = False) -> Fit:
        """Return the fit of one window, over the requests that were admitted within it.

        both: with ceilings as either window reached them, as always for the current one.
        """
        both = both or side == 1
        key = side, choice, both
        if key not in self._fits:
            world = self.world(side, choice)
            replayed = world.serve(self.limits(choice, both)).waits
            inside = world.seen.at + world.seen.queue <= self.length_ms[side]
            self._fits[key] = fit_of(world.wait[inside], replayed[inside])
        return self._fits[key]

    def best(self) -> _Choice:
        """Return the best choice from several starts, of equals the first; enough once one is GOOD."""
        # From either side: a small budget can pass for few seats, and the other way round.
        orders = (self.structures, _limits, self.stretches), (_limits, self.structures, self.stretches)
        found = _Choice(budget=self.steps[0].budget if self.steps[0].budget_stood else inf)
        starts = (found, replace(found, timed=True)) if self.steps[0].n == 0 else (found,)
        for start, searches in product(starts, orders):
            reached = start
            for options in searches:
                reached = self.better(reached, options(reached))
            # The first search counts whatever it gained: it may have learnt from the current window.
            first = start == starts[0] and searches is orders[0]
            if first or self.fit(0, reached).r2 > self.fit(0, found).r2 + BETTER:
                found = reached
            fit = self.fit(0, found)
            if fit.r2 >= GOOD and abs(fit.p99_error) <= 1 - GOOD:
                break
        return found

    def better(self, best: _Choice, options: Iterator[_Choice]) -> _Choice:
        """Return the option that beats the best so far on the baseline, or ties there and beats it later.

        A budget is chosen on the baseline alone: a ceiling of the current window counts only where it is
        no lower than what the baseline reached, and no such bound is known of a budget.
        """
        reached = self.fit(0, best).r2
        for option in options:
            r2 = self.fit(0, option).r2
            if (
                r2 > reached + BETTER
                or self._ties(best, option)
                and self.fit(1, option).r2 > self.fit(1, best).r2 + BETTER
            ):
                best, reached = option, r2
        return best

    def _ties(self, best: _Choice, option: _Choice) -> bool:
        """Return whether both replay the baseline alike, with ceilings as high as either window's."""
        if not self._may_tell(best, option):
            return False
        return abs(self.fit(0, option, both=True).r2 - self.fit(0, best, both=True).r2) <= BETTER

    def _may_tell(self, best: _Choice, option: _Choice) -> bool:
        """Return whether the current window may decide: of a ceiling only what the baseline never came near.

        A cache whose size is known it may tell of as well.

        Requests that wait below a level that the baseline held wait for another reason.
        """
        if option.budget != best.budget:
            return False
        before, both = self.ceilings[0], self.ceilings[0].joined(self.ceilings[1])
        seats = both.seats.max() > HIGHER * before.seats.max()
        known = option.growing and bool(self.steps[0].room(self.seen[0]))
        cache = known or both.cache.max() > HIGHER * before.cache.max()
        return (seats or option.seats == best.seats) and (cache or option.cache == best.cache)
