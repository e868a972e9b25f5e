"""The recorded steps of the engines, and what they tell about the requests that they served.

Where no steps were recorded everything here is empty, and the requests themselves have to tell.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from otel_attrib.analytics.replay.arrivals import Arrivals, engine_codes
from otel_attrib.analytics.replay.by_engine import by_engine
from otel_attrib.analytics.replay.step_cost import Passed, StepCost, step_cost

__all__ = ["Steps", "steps_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST_STEPS = 20
LEAST_KNOWN = 0.5
CEILING = 0.01  # share of an engine's steps
AT_CEILING = 0.99
TELLING = 0.1  # of the steps, those in which most of what ran is known


@dataclass(frozen=True)
class Steps:
    """m steps in order of engine and number. start, lasted: ms; prompt, decode: tokens computed in it.

    cache: share of the KV cache in use.
    """

    engine: Ints
    number: Ints
    start: Floats
    lasted: Floats
    prompt: Floats
    decode: Floats
    running: Floats
    cache: Floats
    engines: int

    @property
    def n(self) -> int:
        """Return how many there are."""
        return int(self.engine.size)

    @property
    def budget(self) -> float:
        """Return the most tokens that one step computed; 0 where unknown."""
        return float(np.nan_to_num(self.prompt + self.decode).max(initial=0.0))

    @property
    def budget_stood(self) -> bool:
        """Return whether the most tokens of a step are a ceiling: many steps computed as many."""
        tokens = np.nan_to_num(self.prompt + self.decode)
        return self.budget > 0 and int((tokens >= AT_CEILING * self.budget).sum()) >= LEAST_STEPS

    def seats(self, engine: int) -> tuple[float, bool]:
        """Return the most requests that an engine ran at once, 0 where unknown, and whether it is a ceiling.

        It is one when the engine stood there, not when it touched it once.
        """
        own = np.searchsorted(self.engine, [engine, engine + 1])
        running = np.nan_to_num(self.running[slice(*own)])
        most = float(running.max(initial=0.0))
        return most, most > 0 and int((running == most).sum()) >= max(LEAST_STEPS, CEILING * running.size)

    def first_of(self, seen: Arrivals) -> Ints:
        """Return (n,) the place here of each request's first step, −1 where it is not known."""
        if self.n == 0 or not (seen.first_step >= 0).any():
            return np.full(seen.n, -1, dtype=np.int64)
        span = int(max(self.number.max(), seen.first_step.max())) + 2
        key, asked = self.engine * span + self.number, seen.engine * span + seen.first_step
        place = np.minimum(np.searchsorted(key, asked), key.size - 1)
        return np.where((key[place] == asked) & (seen.first_step >= 0), place, -1)

    @cached_property
    def complete(self) -> bool:
        """Return whether every step says what it computed and how long it took."""
        known = np.isfinite(self.lasted) & np.isfinite(self.prompt) & np.isfinite(self.decode)
        return self.n > 0 and bool(known.all())

    @cached_property
    def cost(self) -> StepCost | None:
        """Return what a step costs, where enough of them say so."""
        if not self.complete:
            return None
        return step_cost(self.engine, self.prompt, self.decode, self.lasted, self.engines)

    def idle(self, cost: StepCost) -> Floats:
        """Return (engines,) ms of a step that only decodes, before what each sequence adds."""
        idle = cost.idle.copy()
        some = ~(self.prompt > 0) & np.isfinite(self.lasted)
        for engine, rows in by_engine(self.engine):
            own = rows.start + np.flatnonzero(some[rows])
            if engine >= 0 and own.size >= LEAST_STEPS:
                rest = self.lasted[own] - cost.per_idle[engine] * np.nan_to_num(self.decode[own])
                idle[engine] = max(0.0, float(np.median(rest)))
        return idle

    def earlier(self, seen: Arrivals, opens: dict[int, float]) -> dict[int, Floats]:
        """Return after how many steps each request from before the window leaves its engine, ascending.

        They count from when the engine lets the window's first one in; ms of that in `opens`.

        They are those that ran beside the window's own, where it is known in which steps these did. Else
        those of the first step leave evenly over as many steps as requests have tokens.
        """
        known = (seen.first_step >= 0) & (seen.last_step >= seen.first_step)
        own = dict(by_engine(seen.engine))
        found = {}
        for engine, rows in by_engine(self.engine):
            rows = self._from(rows, opens.get(engine, 0.0))
            running = np.nan_to_num(self.running[rows])
            mine = own.get(engine, slice(0, 0))
            if bool(known[mine].all()):  # of several counts the last: who gave way comes back
                others = running - self._beside(seen, mine, rows)
                most = np.maximum(0, np.maximum.accumulate(others[::-1])[::-1])
                seats = np.arange(int(most[0]), 0, -1)
                found[engine] = np.searchsorted(-most, -seats, side="right").astype(np.float64)
            else:
                seats = np.arange(1, int(running[0]) + 1)
                found[engine] = seats / max(1, seats.size) * float(np.maximum(0.0, seen.output - 1).mean())
        return found

    def _beside(self, seen: Arrivals, own: slice | Ints, rows: slice) -> Floats:
        """Return how many of these requests were between their first and last step in each step."""
        m = rows.stop - rows.start
        first, after = (
            np.bincount(np.searchsorted(self.number[rows], side), minlength=m + 1)[:m]
            for side in (seen.first_step[own], seen.last_step[own] + 1)
        )
        return np.cumsum(first - after).astype(np.float64)

    def taken(self, seen: Arrivals, opens: dict[int, float]) -> dict[int, float]:
        """Return the tokens of cache that earlier requests hold when each engine opens, where known."""
        room = self.room(seen)
        found = {}
        for engine, rows in by_engine(self.engine):
            if engine in room:
                first = self._from(rows, opens.get(engine, 0.0)).start
                found[engine] = float(self.cache[max(rows.start, first - 1)]) * room[engine]
        return found

    def _from(self, rows: slice, opens: float) -> slice:
        """Return an engine's steps from the one on in which it opens, all where it is open."""
        if opens <= 0:
            return rows
        first = rows.start + int(np.searchsorted(self.start[rows], opens - 1e-3))
        return slice(min(first, rows.stop - 1), rows.stop)

    def room(self, seen: Arrivals) -> dict[int, float]:
        """Return the tokens that each engine's whole cache holds, where steps and requests tell.

        What the running requests hold of it is compared with the share in use, over the fuller steps in
        which all that ran are known: those that came before the window, or gave way, blur others.
        """
        found: dict[int, float] = {}
        known = (seen.first_step >= 0) & (seen.last_step >= seen.first_step)
        steps = dict(by_engine(self.engine))
        for engine, rows in by_engine(seen.engine):
            own = rows.start + np.flatnonzero(known[rows])
            if engine in steps and own.size and bool(np.isfinite(self.cache[steps[engine]]).all()):
                held, share = self._held(seen, own, steps[engine])
                if share > 0 and held > 0:
                    found[engine] = held / share
        return found

    def _held(self, seen: Arrivals, own: Ints, rows: slice) -> tuple[float, float]:
        """Return the tokens held and the share of the cache in use, each summed over the steps that tell."""
        number, running, cache = self.number[rows], self.running[rows], self.cache[rows]
        first, last = (side[own] - number[0] for side in (seen.first_step, seen.last_step))
        token = np.minimum(first + seen.chunks[own].astype(np.int64) - 1, last)
        prompt, output = seen.prompt[own], seen.output[own]
        # Who gave way did so young: what it has of its output counts back from its last step.
        grows = np.maximum(1, np.minimum(last - token, output.astype(np.int64) - 1))
        begin = np.maximum(token, last - grows)
        chunk, rate = prompt / (token - first + 1), (output - 1) / grows
        at = number - number[0]
        m = int(at[-1]) + 2

        def summed(place: Ints, weight: Floats) -> Floats:
            within = np.clip(place, 0, m - 1)
            sums: Floats = np.cumsum(np.bincount(within, weights=weight, minlength=m))[at]
            return sums

        beside = self._beside(seen, own, rows)
        # Straight lines of tokens over steps: `chunk` a step until the prompt is there, later `rate`.
        lines = [(first, token + 1, chunk, chunk * (1 - first)), (token + 1, begin + 1, 0 * rate, prompt)]
        lines.append((begin + 1, last + 1, rate, prompt - rate * begin))
        slope, level = np.zeros(at.size), np.zeros(at.size)
        for start, stop, steep, intercept in lines:
            slope += summed(start, steep) - summed(stop, steep)
            level += summed(start, intercept) - summed(stop, intercept)
        held = np.divide((level + slope * at) * running, beside, out=np.zeros(at.size), where=beside > 0)
        blur = np.abs(running - beside)
        some = (beside > 0) & (running > 0)
        if int(some.sum()) < LEAST_STEPS:
            return 0.0, 0.0
        some &= blur <= max(0.0, float(np.quantile(blur[some], TELLING)))
        some &= cache >= np.median(cache[some])
        return float(held[some].sum()), float(cache[some].sum())

    def passed(self, seen: Arrivals, copies: Floats, cost: StepCost) -> Passed | None:
        """Return what passed in the steps that computed each prompt; nothing unless half are known.

        Steps of requests that waited beyond the window's end are not: they took what the others did.
        """
        place = self.first_of(seen)
        known = place >= 0
        if seen.n == 0 or float(known.mean()) < LEAST_KNOWN or not self.complete:
            return None
        until = np.minimum(place + seen.chunks.astype(np.int64), self.n)
        took, should = (
            sums[until] - sums[np.maximum(place, 0)]
            for sums in (
                np.append(0.0, np.cumsum(column))
                for column in (self.lasted, cost.lasts(self.engine, self.prompt, self.decode))
            )
        )
        copied = self._copied(place, until, copies)
        typical = float((took - copied)[known].sum()), float(should[known].sum())
        return Passed(
            np.where(known, took, typical[0]),
            np.where(known, should, typical[1]),
            np.where(known, copied, 0.0),
        )

    def _copied(self, place: Ints, until: Ints, copies: Floats) -> Floats:
        """Return (n,) ms of copies that fell into each request's steps, each in its owner's first."""
        in_step = np.bincount(place[place >= 0], weights=copies[place >= 0], minlength=self.n)
        sums = np.append(0.0, np.cumsum(in_step))
        return np.where(place >= 0, sums[until] - sums[np.maximum(place, 0)], copies)

    def entered(self, seen: Arrivals) -> Floats:
        """Return (n,) when each request's first step began, nan where unknown."""
        place = self.first_of(seen)
        if self.n == 0:
            return np.full(seen.n, np.nan)
        return np.where(place >= 0, self.start[np.maximum(place, 0)], np.nan)

    def rest_of_step(self, seen: Arrivals) -> Floats:
        """Return (n,) ms for which a step that only decodes goes on after each arrival.

        Where the step of that moment computed prompts (the replay will say whether one does), or none is
        recorded, it is the mean rest of a step met at random: half of one.
        """
        rest = _half_a_step(seen)
        steps = dict(by_engine(self.engine))
        for engine, rows in by_engine(seen.engine):
            if engine not in steps:
                continue
            own = steps[engine].start + np.flatnonzero(~(self.prompt[steps[engine]] > 0))
            if own.size:
                half = np.full(rows.stop - rows.start, float(np.median(self.lasted[own])) / 2)
                rest[rows] = _to_the_end(seen.at[rows], self.start[own], self.lasted[own], half)
        return rest


def steps_of(table: pa.Table, engines: dict[str, int], zero_us: int) -> Steps:
    """Return the steps of a window; times count from `zero_us`."""
    if len(table) == 0:
        empty = np.zeros(0)
        none = np.zeros(0, dtype=np.int64)
        return Steps(none, none, empty, empty, empty, empty, empty, empty, len(engines))
    engine = engine_codes(table, engines)
    number = _numbers(table, "step").astype(np.int64)
    start = (pc.cast(table["time"], pa.int64()).to_numpy(zero_copy_only=False) - zero_us) / 1000
    order = np.lexsort((start, number, engine))
    return Steps(
        engine=engine[order],
        number=number[order],
        start=start[order],
        lasted=_numbers(table, "duration_us")[order] / 1000,
        prompt=_numbers(table, "prefill_tokens")[order],
        decode=_numbers(table, "decode_tokens")[order],
        running=_numbers(table, "running")[order],
        cache=_numbers(table, "kv_usage")[order],
        engines=len(engines),
    )


def _numbers(table: pa.Table, name: str) -> Floats:
    if name not in table.column_names:
        return np.full(len(table), np.nan)
    numbers: Floats = pc.cast(table[name], pa.float64()).to_numpy(zero_copy_only=False).astype(np.float64)
    return numbers


def _to_the_end(at: Floats, start: Floats, lasted: Floats, otherwise: Floats) -> Floats:
    """Return the rest of the step that each arrival falls into, `otherwise` where it falls into none."""
    order = np.argsort(start, kind="stable")
    start, end = start[order], (start + lasted)[order]
    place = np.searchsorted(start, at, side="right") - 1
    rest: Floats = np.where((place >= 0) & (at < end[place]), end[place] - at, otherwise)
    return rest


def _half_a_step(seen: Arrivals) -> Floats:
    after = np.maximum(1.0, seen.output - 1)
    rest = np.zeros(seen.n)
    for _, own in by_engine(seen.engine):
        rows = own.start + np.flatnonzero(seen.output[own] > 1)
        if rows.size:
            rest[own] = float(np.median(seen.holding[rows] / after[rows])) / 2
    return rest
