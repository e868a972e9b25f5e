"""The model of the engine that fits best, and both windows ready to be replayed in it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import inf

from otel_attrib.analytics.period import Period
from otel_attrib.analytics.replay.arrivals import arrivals_of, sequence_of_engines
from otel_attrib.analytics.replay.engine import Limits, Served
from otel_attrib.analytics.replay.gate import Fit, fit_of
from otel_attrib.analytics.replay.limits import ceilings_of
from otel_attrib.analytics.replay.steps import steps_of
from otel_attrib.analytics.replay.world import World, world_of

__all__ = ["Calibrated", "calibrate"]

BUDGETS = tuple(float(2**power) for power in range(9, 15))
STRETCHES = (0.95, 1.03, 1.06, 1.1, 1.15, 1.2)
HIGHER = 1.1
BETTER = 0.005  # a further limit has to earn its place: R² that much higher


@dataclass(frozen=True)
class Calibrated:
    """Both worlds, the engines' limits, and how well the baseline's waits were replayed."""

    baseline: World
    current: World
    limits: dict[int, Limits]
    replayed: Served
    fit: Fit


@dataclass(frozen=True)
class _Choice:
    """One model: which limits bind, whether copies hold the engine up, what its work is multiplied by."""

    seats: bool = False
    cache: bool = False
    budget: float = inf
    blocking: bool = True
    stretch: float = 1.0


def calibrate(baseline: Period, current: Period) -> Calibrated:
    """Choose the model on the baseline; the current window may raise limits, never lower them.

    What the baseline cannot tell (copies too short to hold anyone up) the current window decides.
    """
    engines = sequence_of_engines(baseline.requests, current.requests)
    bench = _Bench(baseline, current, engines)
    best = _Choice()
    for options in (bench.structures, _limits, bench.stretches):
        best = bench.better(best, options(best))
    limits = bench.limits(best, both=True)
    a, b = bench.world(0, best), bench.world(1, best)
    replayed = a.serve(bench.limits(best, both=False))
    return Calibrated(a, b, limits, replayed, bench.fit(0, best))


def _limits(best: _Choice) -> Iterator[_Choice]:
    """Seats and cache, the fewest first."""
    for seats, cache in sorted(product((False, True), repeat=2), key=sum):
        yield replace(best, seats=seats, cache=cache)


class _Bench:
    """Both windows, and how well each choice replays them."""

    def __init__(self, baseline: Period, current: Period, engines: dict[str, int]) -> None:
        windows = baseline, current
        self.engines = len(engines)
        self.seen = tuple(arrivals_of(window.requests, engines) for window in windows)
        self.steps = tuple(
            steps_of(window.steps, engines, seen.zero_us)
            for window, seen in zip(windows, self.seen, strict=True)
        )
        self.ceilings = tuple(
            ceilings_of(seen, steps, self.engines) for seen, steps in zip(self.seen, self.steps, strict=True)
        )
        self.length_ms = tuple(
            window.window.bounds_us()["to_us"] / 1000 - seen.zero_us / 1000
            for window, seen in zip(windows, self.seen, strict=True)
        )
        self._worlds: dict[tuple[int, bool], World] = {}

    def structures(self, best: _Choice) -> Iterator[_Choice]:
        """Return budgets (the one that the steps show, or the usual ones), copies in the way and beside."""
        seen = self.steps[0].budget
        for budget in (inf, seen) if seen else (inf, *BUDGETS):
            for blocking in (True, False):
                yield replace(best, budget=budget, blocking=blocking)

    def stretches(self, best: _Choice) -> Iterator[_Choice]:
        """Return how much longer than the requests say the engine may have worked, where no step says it."""
        for stretch in () if self.steps[0].n else STRETCHES:
            yield replace(best, stretch=stretch)

    def world(self, side: int, choice: _Choice) -> World:
        """Return the baseline's (0) or the current (1) world."""
        key = side, choice.blocking
        if key not in self._worlds:
            cost = self.world(0, replace(choice, stretch=1.0)).cost if side else None
            found = world_of(self.seen[side], self.steps[side], self.engines, choice.blocking, cost)
            self._worlds[key] = found
        return replace(self._worlds[key], stretch=choice.stretch)

    def limits(self, choice: _Choice, both: bool) -> dict[int, Limits]:
        """Return each engine's limits as the baseline, or either window, reached them."""
        ceilings = self.ceilings[0].joined(self.ceilings[1]) if both else self.ceilings[0]
        return ceilings.limits(choice.seats, choice.cache, choice.budget)

    def fit(self, side: int, choice: _Choice) -> Fit:
        """Return the fit of one window, over the requests that were admitted within it."""
        world = self.world(side, choice)
        replayed = world.serve(self.limits(choice, both=side == 1)).waits
        inside = world.seen.at + world.seen.queue <= self.length_ms[side]
        return fit_of(world.wait[inside], replayed[inside])

    def better(self, best: _Choice, options: Iterator[_Choice]) -> _Choice:
        """Return the option that beats the best so far on the baseline, or ties there and beats it later.

        A budget is chosen on the baseline alone: a ceiling of the current window counts only where it is
        no lower than what the baseline reached, and no such bound is known of a budget.
        """
        reached = self.fit(0, best).r2
        for option in options:
            r2 = self.fit(0, option).r2
            tied = abs(r2 - reached) <= BETTER and self._may_tell(best, option)
            if r2 > reached + BETTER or (tied and self.fit(1, option).r2 > self.fit(1, best).r2 + BETTER):
                best, reached = option, r2
        return best

    def _may_tell(self, best: _Choice, option: _Choice) -> bool:
        """Return whether the current window may decide: of a ceiling only what the baseline never came near.

        Requests that wait below a level that the baseline held wait for another reason.
        """
        if option.budget != best.budget:
            return False
        before, both = self.ceilings[0], self.ceilings[0].joined(self.ceilings[1])
        seats = both.seats.max() > HIGHER * before.seats.max()
        cache = both.cache.max() > HIGHER * before.cache.max()
        return (seats or option.seats == best.seats) and (cache or option.cache == best.cache)
