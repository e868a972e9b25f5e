"""What a step of the engine costs, and each prompt's own part of the steps that computed several.

A step of p prompt tokens beside d sequences that decode lasts the longer one of idle + per_idle · d, the
weights' and the cache's way from memory, and base + slope · p + per_decode · d, the computing. Prompts
computed together all see the whole step as their prefill; a request's speed is how long its steps took
against what they should have taken, and its own work is its tokens at that speed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.replay.by_engine import by_engine

__all__ = ["Passed", "StepCost", "own_speed", "passed_between", "step_cost"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

LEAST_ALONE = 20
LEAST_STEPS = 100
ALONE = 0.98  # share of what was computed during a stay that is the request's own
SPEEDS = (0.05, 20.0)


@dataclass(frozen=True)
class StepCost:
    """ms of a step, (engines,) each: without prompts idle and per_idle a sequence; with, as above."""

    idle: Floats
    base: Floats
    slope: Floats
    per_decode: Floats
    per_idle: Floats

    def lasts(self, engine: Ints, prompt: Floats, decode: Floats) -> Floats:
        """Return ms of steps of these engines with these tokens."""
        computing = self.base[engine] + self.slope[engine] * prompt + self.per_decode[engine] * decode
        return np.maximum(self.idle[engine] + self.per_idle[engine] * decode, computing)


@dataclass(frozen=True, slots=True)
class Passed:
    """What went on while each prompt was computed, (n,) ms: what it took, what it should have, and copies.

    copies: those in it that held the engine up.
    """

    took: Floats
    should: Floats
    copies: Floats


def own_speed(passed: Passed) -> Floats:
    """Return (n,) how many times longer the engine took than it should have; copies left out."""
    took = np.maximum(0.0, passed.took - passed.copies)
    speed = np.divide(took, passed.should, out=np.ones_like(took), where=passed.should > 0)
    return np.clip(speed, *SPEEDS)


def step_cost(engine: Ints, prompt: Floats, decode: Floats, lasted: Floats, engines: int) -> StepCost | None:
    """Fit the cost to (m,) steps in order of engine; an engine with few costs what all together do.

    Nothing where too few steps with prompts, or without, were seen.
    """
    whole = _fit(prompt, decode, lasted)
    if whole is None:
        return None
    found = np.tile(np.array(whole)[:, None], engines)
    for code, own in by_engine(engine):
        if code >= 0 and (fitted := _fit(prompt[own], decode[own], lasted[own])) is not None:
            found[:, code] = fitted
    return StepCost(*found)


def _fit(prompt: Floats, decode: Floats, lasted: Floats) -> tuple[float, float, float, float, float] | None:
    """Return idle, base, slope and what a sequence adds, by least squares over steps of larger prompts.

    A busy engine has few steps without prompts: then no step is shorter than one in twenty was.
    """
    some = prompt > 0
    if int(some.sum()) < LEAST_STEPS:
        return None
    large = prompt >= np.quantile(prompt[some], 0.25)
    design = np.column_stack([np.ones(int(large.sum())), prompt[large], decode[large]])
    base, slope, per_decode = np.linalg.lstsq(design, lasted[large], rcond=None)[0].tolist()
    per_decode = max(0.0, per_decode)
    without, per_idle = int((~some).sum()) >= LEAST_ALONE, per_decode
    if without:
        design = np.column_stack([np.ones(int((~some).sum())), decode[~some]])
        per_idle = max(0.0, float(np.linalg.lstsq(design, lasted[~some], rcond=None)[0][1]))
    rest = lasted - per_idle * decode
    idle = float(rest[~some].mean() if without else np.quantile(rest, 0.05))
    return max(0.0, idle), max(0.0, base), max(0.0, slope), per_decode, per_idle


def passed_between(
    engine: Ints,
    start: Floats,
    lasted: Floats,
    fresh: Floats,
    chunks: Floats,
    copies: Floats,
    cost: StepCost | None,
    engines: int,
) -> tuple[Passed, StepCost]:
    """Return what passed from `start` on for `lasted` ms, (n,) each, as far as the requests alone tell.

    Requests are in order of engine. What each brings (fresh tokens, copies) is taken to be spread evenly
    over its own stretch. The cost, where none is given, is that of requests which had the engine's prompts
    to themselves.
    """
    tokens, copied = (_during(engine, start, lasted, brought) for brought in (fresh, copies))
    if cost is None:
        alone = (fresh >= ALONE * tokens) & (chunks == 1)
        computing = np.maximum(0.0, lasted - copied)
        cost = _cost_of_requests(engine, tokens, computing, alone, engines)
    should = cost.base[engine] * chunks + cost.slope[engine] * tokens
    return Passed(lasted, should, copied), cost


def _cost_of_requests(
    engine: Ints, tokens: Floats, computing: Floats, alone: Flags, engines: int
) -> StepCost:
    """Fit base and slope to requests that were alone, or to all; engines with few cost what all do."""
    lines = np.tile(np.array(_line_of(tokens, computing, alone))[:, None], engines)
    for code, own in by_engine(engine):
        if code >= 0 and own.stop - own.start >= LEAST_STEPS:
            lines[:, code] = _line_of(tokens[own], computing[own], alone[own])
    none = np.zeros(engines)
    return StepCost(none, lines[0], lines[1], none, none)


def _line_of(tokens: Floats, took: Floats, alone: Flags) -> tuple[float, float]:
    """Return the line of those that were alone, or where they are too few of all."""
    some = alone if int(alone.sum()) >= LEAST_ALONE else np.ones(alone.size, dtype=np.bool_)
    return _line(tokens[some], took[some])


def _line(tokens: Floats, took: Floats) -> tuple[float, float]:
    """Return the level and slope, both at least 0, of the least-squares line of ms over tokens."""
    if tokens.size == 0:
        return 0.0, 0.0
    spread = float(np.var(tokens))
    slope = float(np.mean((tokens - tokens.mean()) * (took - took.mean()))) / spread if spread > 0 else 0.0
    if slope <= 0:
        return 0.0, float(took.sum() / tokens.sum())
    level = float(took.mean()) - slope * float(tokens.mean())
    return (level, slope) if level > 0 else (0.0, float(took @ tokens / (tokens @ tokens)))


def _during(engine: Ints, start: Floats, lasted: Floats, brought: Floats) -> Floats:
    """Return (n,) how much of what all of an engine's requests `brought` falls into each one's stretch."""
    found = np.zeros(start.size)
    for _, rows in by_engine(engine):
        found[rows] = _of_engine(start[rows], lasted[rows], brought[rows])
    return found


def _of_engine(start: Floats, lasted: Floats, brought: Floats) -> Floats:
    """Integrate the sum of the rates over each stretch, by prefix sums over all moments."""
    n = start.size
    rate = np.divide(brought, lasted, out=np.zeros(n), where=lasted > 0)
    moments = np.concatenate([start, start + lasted])
    order = np.argsort(moments, kind="stable")
    rates = np.cumsum(np.concatenate([rate, -rate])[order])
    area = np.concatenate([[0.0], np.cumsum(rates[:-1] * np.diff(moments[order]))])
    place = np.empty(2 * n, dtype=np.int64)
    place[order] = np.arange(2 * n)
    found: Floats = np.maximum(brought, area[place[n:]] - area[place[:n]])
    return found
