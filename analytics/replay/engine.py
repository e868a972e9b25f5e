"""When a continuous-batching engine admits each request, given how long each one's service takes.

The engine works in steps. At the start of a step it takes waiting requests first come, first served,
while there is a seat (max_num_seqs), room in the KV cache and a rest of the step's token budget; a
prompt longer than the rest goes on in the next steps, before newcomers. A step lasts as long as the
work of the prompts in it; a request keeps its seat and its cache until its last token. One that
arrives while the engine only decodes waits for the rest of the step that runs.

A request's `work` is the engine's time that it alone takes: `step_cost.py` splits steps that were shared.
The loop itself is `admission.admit`.
"""

from dataclasses import dataclass, field
from math import inf

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.replay.by_engine import by_engine
from otel_attrib.analytics.replay.compiled import admission

__all__ = ["Demand", "Engine", "Limits", "Served", "serve"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST_STEP = 1e-3  # ms


@dataclass(frozen=True, slots=True)
class Limits:
    """What an engine can hold at once: running requests, tokens of KV cache, prompt tokens of one step.

    growing: cache is taken as tokens come, and when there is none for the next ones the newest request
    gives way, starts over and stands first in the queue. Otherwise all of it is set aside at admission.
    """

    seats: float = inf
    cache: float = inf
    budget: float = inf
    growing: bool = False


@dataclass(frozen=True, slots=True)
class Demand:
    """n requests in order of engine, then arrival `at` the scheduler; times in ms, (n,) each.

    work: the engine's time until the first token that the request alone takes, its copies in the way not
    among it. speed: what its steps' base is multiplied by. blocking: copies that hold the engine up.
    beside: copies that only its own request waits for, after it got its seat. fresh: prompt tokens to
    compute. held: tokens in the KV cache at the end, `grows` of which come after the prompt. tokens: steps
    from the first token to the last.
    residual: how long a step runs on after an arrival that finds the engine decoding.
    """

    engine: Ints
    at: Floats
    work: Floats
    speed: Floats
    blocking: Floats
    beside: Floats
    fresh: Floats
    held: Floats
    grows: Floats
    tokens: Floats
    residual: Floats


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine: its limits, its steps, and what it was at when the first of the requests came.

    A step without prompts lasts idle + per_idle · sequences; one with at least as long, or
    base · speed + Σ work + per_decode · speed · sequences; and copies. opens: when it lets the first one in.
    occupied: after how many steps each earlier request leaves, ascending; they hold `taken` tokens of cache
    when it opens. timed: seats are kept for a time, `tokens` being ms, because it is not known how long a
    step without prompts takes.
    """

    limits: Limits = Limits()
    idle: float = 0.0
    base: float = 0.0
    per_decode: float = 0.0
    per_idle: float = 0.0
    opens: float = 0.0
    occupied: Floats = field(default_factory=lambda: np.zeros(0))
    taken: float = 0.0
    timed: bool = False


@dataclass(frozen=True, slots=True)
class Served:
    """(n,) ms from arrival to the first step, less copies beside the engine; and on to the first token.

    gave_way: how often each had to start over.
    """

    waits: Floats
    stays: Floats
    gave_way: Floats


def serve(demand: Demand, engines: dict[int, Engine]) -> Served:
    """Return how the engines serve the demand."""
    entered, first_token, gave_way = (np.empty(demand.at.size) for _ in range(3))
    for code, rows in by_engine(demand.engine):
        entered[rows], first_token[rows], gave_way[rows] = _serve(demand, rows, engines[code])
    return Served(entered - demand.at - demand.beside, first_token - entered, gave_way)


def _serve(demand: Demand, rows: slice, engine: Engine) -> tuple[Floats, Floats, Floats]:
    limits = engine.limits
    return admission()(
        demand.at[rows],
        demand.work[rows],
        demand.speed[rows],
        demand.blocking[rows],
        demand.beside[rows],
        demand.fresh[rows],
        demand.held[rows],
        demand.grows[rows],
        demand.tokens[rows],
        demand.residual[rows],
        (float(limits.seats), float(limits.cache), float(limits.budget), bool(limits.growing)),
        (
            max(float(engine.idle), LEAST_STEP),
            float(engine.base),
            float(engine.per_decode),
            float(engine.per_idle),
        ),
        (float(engine.opens), float(engine.taken), 0.0 if engine.timed else 1.0),
        engine.occupied,
        engine.timed,
    )
