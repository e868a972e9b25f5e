"""Run the kernel over a fleet: what a pass costs, the chance that was drawn, one run a replica.

A pass takes max(FLOPs / (peak · clock · efficiency), bytes / (bandwidth · efficiency)) + layers × collective
+ copies, plus CPU work before and after. Everything random is drawn here from the seed by kind and replica,
and depends on nothing that a fault changes.
"""

from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType

import numpy as np

from otel_attrib.analytics.columns import Floats, Ints
from otel_attrib.errors import MissingExtra
from otel_attrib.fleet.cards import model_named
from otel_attrib.fleet.costs import CPU, Costs, costs
from otel_attrib.fleet.scenario import Scenario
from otel_attrib.fleet.terms import INDEX, TERMS, State, worst
from otel_attrib.fleet.workload import Requests, lengths

__all__ = ["Run", "capacity", "kernel", "quiet", "serve", "served_requests"]

_NOISE = 4099  # a prime: replicas' cycles do not line up with their steps


@dataclass(frozen=True)
class Run:
    """One fleet's run. Requests in the order of `requests`; steps in that of their replicas.

    `served` (n, len(kernel.REQUEST)); `steps` (m, len(kernel.STEP)); `replica`, `number` (m,) of each step;
    `delivered` and `done` the moments of all tokens, `offsets` (n+1,) where a request's begin.
    """

    requests: Requests
    queued: Floats
    tokenize: Floats
    served: Floats
    steps: Floats
    replica: Ints
    number: Ints
    done: Floats
    delivered: Floats
    offsets: Ints
    late: Floats


@lru_cache(maxsize=1)
def kernel() -> ModuleType:
    """Return the compiled step loop; MissingExtra where numba is not installed."""
    try:
        from otel_attrib.fleet import kernel as found
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("numba", "llvmlite"):
            raise
        raise MissingExtra("the model fleet", "simulate") from missing
    return found


def _step_chance(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw what multiplies a step's times, and what decides on delays; now and then a step is late."""
    noise = np.exp(rng.normal(0, [0.03, 0.15, 0.1, 0.15], (_NOISE, 4)))
    noise[:, 0] *= np.where(rng.random(_NOISE) < 0.004, rng.uniform(1.3, 2.5, _NOISE), 1.0)
    noise[:, 1] *= np.where(rng.random(_NOISE) < 0.01, rng.uniform(2.0, 8.0, _NOISE), 1.0)
    draws = np.column_stack([rng.exponential(1, _NOISE), rng.exponential(1, _NOISE), rng.random(_NOISE)])
    return noise, draws


def serve(scenario: Scenario, requests: Requests, state: State, slow: Floats, seed: int) -> Run:
    """Serve the requests; `slow` (n,) mean seconds that a request's reader holds back a token."""
    n, fleet = requests.n, scenario.fleet
    chance = _chance(n, seed)
    offsets = np.concatenate([[0], np.cumsum(requests.output)]).astype(np.int64)
    queued, tokenize, served = np.empty(n), np.empty(n), np.empty((n, len(kernel().REQUEST)))
    done = np.empty(int(offsets[-1]))
    steps, replica, number = [], [], []
    largest = int((requests.prompt + requests.output).max()) if n else 1
    by_replica = state.values.reshape(state.starts.size, scenario.replicas, fleet.tp, -1)
    for place in range(scenario.replicas):
        mine = np.flatnonzero(requests.replica == place)
        terms = worst(by_replica[:, place])
        if not mine.size:
            continue
        queued[mine], tokenize[mine] = _ingest(requests, mine, state.starts, terms, chance)
        model = model_named(scenario.models[place % len(scenario.models)])
        found = _run(
            scenario, requests, mine, queued[mine], state.starts, terms, costs(scenario, model, largest), seed
        )
        served[mine] = found[0]
        _wait_for_slowest(found[1], by_replica[:, place], state.starts)
        steps.append(found[1])
        replica.append(np.full(len(found[1]), place))
        number.append(np.arange(len(found[1])))
        where = np.repeat(offsets[mine], requests.output[mine]) + _within(requests.output[mine])
        done[where] = found[2]
    late = _late(requests, served, state, scenario, chance)
    jitter = np.random.default_rng([seed, 5]).gamma(4.0, 0.25, (_NOISE, 1))
    reader = np.random.default_rng([seed, 6]).gamma(2.0, 0.5, (_NOISE, 1))
    delivered = kernel().deliver(done, offsets, late, slow, np.hstack([jitter, reader]))
    return Run(
        requests,
        queued,
        tokenize,
        served,
        np.vstack(steps),
        np.concatenate(replica),
        np.concatenate(number),
        done,
        delivered,
        offsets,
        late,
    )


def _wait_for_slowest(steps: Floats, ranks: Floats, starts: Floats) -> None:
    """Set how long the first rank, whose times a step tells, waits in the collectives for the slowest one."""
    if ranks.shape[1] == 1:
        return
    column = kernel().STEP.index
    segments = np.searchsorted(starts, steps[:, column("start")], side="right") - 1
    own = [
        steps[:, column(name)] * (ranks[:, 0, INDEX[name]] / ranks[:, :, INDEX[name]].max(axis=1))[segments]
        for name in ("compute", "memory")
    ]
    slowest = np.maximum(steps[:, column("compute")], steps[:, column("memory")])
    steps[:, column("rank_wait")] = slowest - np.maximum(*own)


def _within(counts: Ints) -> Ints:
    """Return 0…count−1 for each count, one after the other."""
    ends = np.cumsum(counts)
    within: Ints = np.arange(int(ends[-1])) - np.repeat(ends - counts, counts)
    return within


def _chance(n: int, seed: int) -> dict[str, Floats]:
    """Draw what belongs to requests: the same whatever becomes of them."""
    rng = np.random.default_rng([seed, 3])
    return {
        "parse": rng.gamma(4.0, 0.25, n) * np.where(rng.random(n) < 0.01, 6.0, 1.0),
        "tokenize": np.exp(rng.normal(0, 0.12, n)),
        "handoff": rng.gamma(3.0, 1 / 3, n),
        "read": rng.random(n),
        "again": rng.exponential(1, n),
        "stall": rng.random(n),
        "stall_part": rng.random(n),
        "out": rng.gamma(3.0, 1 / 3, n),
        "out_stall": rng.random(n),
        "out_wait": rng.exponential(1, n),
        "wake": rng.exponential(1, (3, n)),
    }


def _ingest(
    requests: Requests, mine: Ints, starts: Floats, terms: Floats, chance: dict[str, Floats]
) -> tuple[Floats, Floats]:
    arrival, prompt = requests.arrival[mine], requests.prompt[mine]
    now = terms[np.searchsorted(starts, arrival, side="right") - 1]
    segments = prompt * 4 / 1400 + 1  # four bytes a token, one segment 1400
    rounds = np.log2(segments / 10 + 1) + 0.2  # ten segments at once, then twice as many each round
    lost = chance["read"][mine] < 1 - (1 - now[:, INDEX["loss"]]) ** segments
    again = np.where(lost, 0.2 + 0.15 * chance["again"][mine], 0.0)
    read = now[:, INDEX["rtt"]] * rounds + again
    stalled = chance["stall"][mine] < now[:, INDEX["stall_rate"]] * now[:, INDEX["stall"]]
    stall = np.where(stalled, now[:, INDEX["stall"]] * chance["stall_part"][mine], 0.0)
    tokens = (CPU["tokenize"] + CPU["tokenize_token"] * prompt) * chance["tokenize"][mine]
    found: tuple[Floats, Floats] = kernel().ingest(
        arrival,
        read,
        CPU["parse"] * chance["parse"][mine],
        tokens,
        np.ascontiguousarray(chance["wake"][:, mine].T),
        CPU["handoff"] * chance["handoff"][mine],
        stall,
        starts,
        terms,
        INDEX["cpu"],
        INDEX["tokenize"],
        INDEX["run_queue"],
    )
    return found


def _run(
    scenario: Scenario,
    requests: Requests,
    mine: Ints,
    queued: Floats,
    starts: Floats,
    terms: Floats,
    cost: Costs,
    seed: int,
) -> tuple[Floats, Floats, Floats]:
    """Run one replica; the results in the order of `mine`."""
    order = np.argsort(queued, kind="stable")
    rows = mine[order]
    output = requests.output[rows]
    offsets = np.concatenate([[0], np.cumsum(output)]).astype(np.int64)
    noise, draws = _step_chance(np.random.default_rng([seed, 4, int(requests.replica[mine[0]])]))
    host = requests.on_host[rows] < scenario.fleet.host_cache_share
    served, steps, tokens = kernel().run(
        queued[order],
        requests.prompt[rows],
        output,
        requests.shared[rows],
        host,
        requests.luck[rows],
        offsets,
        starts,
        np.ascontiguousarray(terms),
        scenario.fleet.hit_rate,
        cost.cost,
        cost.limits,
        noise,
        draws,
    )
    back = np.empty(order.size, dtype=np.int64)
    back[order] = np.arange(order.size)
    where = np.repeat(offsets[:-1][back], requests.output[mine]) + _within(requests.output[mine])
    return served[back], steps, tokens[where]


def _late(
    requests: Requests, served: Floats, state: State, scenario: Scenario, chance: dict[str, Floats]
) -> Floats:
    """Return (n,) seconds from a token out of the worker to the socket: detokenise, serialise, write."""
    first = served[:, 4]
    segments = np.searchsorted(state.starts, first, side="right") - 1
    by_replica = worst(state.values.reshape(state.starts.size, scenario.replicas, scenario.fleet.tp, -1))
    now = by_replica[segments, requests.replica]
    stalled = chance["out_stall"] < now[:, INDEX["stall_rate"]] * now[:, INDEX["stall"]]
    stall = np.where(stalled, now[:, INDEX["stall"]] * chance["stall_part"], 0.0)
    late: Floats = (
        CPU["write"] * chance["out"] * now[:, INDEX["cpu"]]
        + now[:, INDEX["run_queue"]] * chance["out_wait"]
        + stall
    )
    return late


def served_requests(run: Run, name: str) -> Floats:
    """Return one column of what the engine says of its requests."""
    column: Floats = run.served[:, kernel().REQUEST.index(name)]
    return column


def quiet(
    scenario: Scenario, model: str, queued: Floats, prompt: Ints, output: Ints, shared: Ints
) -> tuple[Floats, Floats]:
    """Serve requests through one replica without any chance or fault; return (requests, steps) of the kernel.

    `queued` ascending. Every prefix in `shared` is found on the card as often as `fleet.hit_rate` says.
    """
    n = queued.size
    largest = int((prompt + output).max())
    cost = costs(scenario, model_named(model), largest)
    offsets = np.concatenate([[0], np.cumsum(output)]).astype(np.int64)
    luck = (np.arange(n) * 0.6180339887498949) % 1.0  # evenly spread, in no order that lengths could follow
    served, steps, _ = kernel().run(
        *(np.ascontiguousarray(column) for column in (queued, prompt, output, shared)),  # one compiled form
        np.zeros(n, dtype=np.bool_),
        luck,
        offsets,
        np.zeros(1),
        np.array([[term.neutral for term in TERMS]]),
        scenario.fleet.hit_rate,
        cost.cost,
        cost.limits,
        np.ones((1, 4)),
        np.zeros((1, 3)),
    )
    return served, steps


def capacity(scenario: Scenario) -> float:
    """Return the requests per second that the fleet can serve: one replica of each model, 400 at once."""
    rate = 0.0
    for model in scenario.models:
        prompt, output, shared = lengths(scenario.workload, 400, np.random.default_rng([11]))
        _, steps = quiet(scenario, model, np.zeros(400), prompt, output, shared)
        # The end, when the batch runs empty, is no steady state: up to nine tenths of the work.
        work = np.cumsum(steps[:, 3] + steps[:, 4])
        last = int(np.searchsorted(work, 0.9 * work[-1]))
        rate += 400 * 0.9 / float(steps[last, 0] + steps[last, 1])
    return rate / len(scenario.models) * scenario.replicas
