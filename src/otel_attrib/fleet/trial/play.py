"""One arm of the trial on one seed: arrivals, gate, engines, and the arbiter every five seconds between them.

The arbiter sees what it would see of a store: requests that arrived in the last minute and have ended.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from otel_attrib.analytics.columns import Flags, Floats, Ints
from otel_attrib.analytics.control.budgets import budgets
from otel_attrib.analytics.control.factors import Policy, Tail, factors
from otel_attrib.analytics.control.tails import ROUND_S, WINDOW_S
from otel_attrib.fleet.engine import _NOISE, _chance, _ingest, _late, kernel
from otel_attrib.fleet.placing import Spans, state_of
from otel_attrib.fleet.scenario import Scenario
from otel_attrib.fleet.simulation import _slow
from otel_attrib.fleet.terms import State, worst
from otel_attrib.fleet.trial.gate import Gate, Kind
from otel_attrib.fleet.trial.replica import Replica
from otel_attrib.fleet.trial.shared_gate import SharedGate
from otel_attrib.fleet.workload import Requests

__all__ = ["Arrivals", "Played", "Rule", "order_statistic", "play"]

LONGEST = 20.0  # times the run's length, in which what the gate held back must have been served


@dataclass(frozen=True)
class Arrivals:
    """The requests of one seed and the fleet that they meet."""

    scenario: Scenario
    requests: Requests
    spans: Spans
    seed: int

    @property
    def tenants(self) -> list[str]:
        """Return the tenants' names by number."""
        return list(self.scenario.workload.tenants)

    @property
    def tokens(self) -> Floats:
        """Return (n,) what a request takes of a budget: its prompt and the output that it may write."""
        return (self.requests.prompt + self.requests.output).astype(np.float64)

    @cached_property
    def state(self) -> State:
        """Return the fleet's state over time: faults act in the trial as in a simulation."""
        return state_of(self.scenario, self.spans)

    @cached_property
    def chance(self) -> dict[str, Floats]:
        """Return what was drawn for each request."""
        return _chance(self.requests.n, self.seed)

    @cached_property
    def queued(self) -> Floats:
        """Return (n,) when each request could be given to its engine."""
        found = np.empty(self.requests.n)
        fleet = self.scenario.fleet
        by_replica = self.state.values.reshape(self.state.starts.size, self.scenario.replicas, fleet.tp, -1)
        for place in range(self.scenario.replicas):
            mine = np.flatnonzero(self.requests.replica == place)
            if mine.size:
                terms = worst(by_replica[:, place])
                found[mine] = _ingest(self.requests, mine, self.state.starts, terms, self.chance)[0]
        return found


@dataclass(frozen=True)
class Rule:
    """Budgets of an arm: the usual `shares` of `total` tokens a second, and the policy that moves them."""

    total: float
    shares: Mapping[str, float]
    thresholds_ms: Mapping[str, float]
    policy: Policy | None = None
    burst_s: float = 5.0
    level: float = 0.95
    gate: Kind = "limit"


@dataclass(frozen=True)
class Played:
    """What an arm made of each request: seconds (n,); `moments` (m,) of all tokens, `owner` (m,) whose."""

    ttft: Floats
    tpot: Floats
    e2e: Floats
    held: Floats
    moments: Floats
    owner: Ints


def play(arrivals: Arrivals, rule: Rule | None) -> Played:
    """Serve the arrivals: without a rule as they come, with one through the gate."""
    requests = arrivals.requests
    largest = int((requests.prompt + requests.output).max())
    engines = [
        Replica(arrivals.scenario, requests, arrivals.state, place, largest, arrivals.seed)
        for place in range(arrivals.scenario.replicas)
    ]
    released = np.full(requests.n, np.inf)
    if rule is None:
        released = arrivals.queued
        _send(engines, requests, np.argsort(released, kind="stable"), released)
        for engine in engines:
            engine.advance(np.inf)
    else:
        _rounds(arrivals, rule, engines, released)
    return _played(arrivals, engines, released)


def _rounds(arrivals: Arrivals, rule: Rule, engines: list[Replica], released: Floats) -> None:
    """Go through the run in rounds; `released` (n,) is filled in."""
    order = np.argsort(arrivals.queued, kind="stable")
    tenants = arrivals.tenants
    kind = SharedGate if rule.gate == "share" else Gate
    gate = kind({k: rule.total * rule.shares[name] for k, name in enumerate(tenants)}, rule.burst_s)
    come, at, before = 0, 0.0, dict.fromkeys(tenants, 1.0)
    n = arrivals.requests.n
    while come < n or gate.waiting:
        if at > LONGEST * arrivals.spans.end:
            raise RuntimeError("the gate holds requests back for ever")  # a budget of 0 is refused before
        if rule.policy is not None:
            before = _adjust(arrivals, rule, rule.policy, engines, gate, at, before)
        last = int(np.searchsorted(arrivals.queued[order], at + ROUND_S, side="left"))
        for row in order[come:last]:
            tenant = int(arrivals.requests.tenant[row])
            gate.come(tenant, int(row), float(arrivals.queued[row]), float(arrivals.tokens[row]))
        come = last
        out = gate.release(at + ROUND_S)
        rows = np.array([one.row for one in out], dtype=np.int64)
        released[rows] = [one.at for one in out]
        _send(engines, arrivals.requests, rows, released)
        at += ROUND_S
        for engine in engines:
            engine.advance(at)
    for engine in engines:
        engine.advance(np.inf)


def _adjust(
    arrivals: Arrivals,
    rule: Rule,
    policy: Policy,
    engines: list[Replica],
    gate: Gate | SharedGate,
    at: float,
    before: dict[str, float],
) -> dict[str, float]:
    """Set the gate's budgets by what was seen up to `at`; return the factors."""
    ttft, last = _seen(arrivals, engines)
    arrival = arrivals.requests.arrival
    recent = (arrival >= at - WINDOW_S) & (arrival < at) & (last <= at)
    tails = []
    for number, name in enumerate(arrivals.tenants):
        mine = ttft[recent & (arrivals.requests.tenant == number)] * 1000
        ms = float(order_statistic(mine, rule.level)) if mine.size else None
        tails.append(Tail(name, mine.size, ms, rule.thresholds_ms[name]))
    found = factors(policy, tails, before)
    parts = {part.tenant: part.tokens_s or 0.0 for part in budgets(found, rule.shares, rule.total)}
    gate.set_rates({k: parts[name] for k, name in enumerate(arrivals.tenants)}, at)
    return {one.tenant: one.value for one in found}


def order_statistic(values: Floats, level: float) -> float:
    """Return the value at rank floor(q·(n−1))+1, as `quantiles` defines it."""
    return float(np.partition(values, place := int(level * (values.size - 1)))[place])


def _seen(arrivals: Arrivals, engines: list[Replica]) -> tuple[Floats, Floats]:
    """Return (n,) TTFT and end of what has ended so far, infinite for the rest."""
    n = arrivals.requests.n
    served = np.zeros((n, len(kernel().REQUEST)))
    for engine in engines:
        served[engine.rows[: engine.taken]] = engine.served
    column = kernel().REQUEST.index
    ended: Flags = served[:, column("last")] > 0
    late = _late(arrivals.requests, served, arrivals.state, arrivals.scenario, arrivals.chance)
    first = np.where(ended, served[:, column("first")] + late - arrivals.requests.arrival, np.inf)
    return first, np.where(ended, served[:, column("last")] + late, np.inf)


def _send(engines: list[Replica], requests: Requests, rows: Ints, at: Floats) -> None:
    """Give each engine its own of `rows`, which are in order of `at`."""
    for place, engine in enumerate(engines):
        mine = rows[requests.replica[rows] == place]
        if mine.size:
            engine.take(mine, at[mine])


def _played(arrivals: Arrivals, engines: list[Replica], released: Floats) -> Played:
    """Hand out the tokens, as `engine.serve` does."""
    requests = arrivals.requests
    offsets = np.concatenate([[0], np.cumsum(requests.output)]).astype(np.int64)
    served = np.empty((requests.n, len(kernel().REQUEST)))
    done = np.empty(int(offsets[-1]))
    for engine in engines:
        rows = engine.rows[: engine.taken]
        served[rows] = engine.served
        for k, row in enumerate(rows):
            done[offsets[row] : offsets[row + 1]] = engine.done[engine.offsets[k] : engine.offsets[k + 1]]
    late = _late(requests, served, arrivals.state, arrivals.scenario, arrivals.chance)
    slow = _slow(arrivals.scenario, requests, arrivals.spans)
    moments: Floats = kernel().deliver(done, offsets, late, slow, _jitter(arrivals.seed))
    first, last = moments[offsets[:-1]], moments[offsets[1:] - 1]
    return Played(
        ttft=first - requests.arrival,
        tpot=(last - first) / np.maximum(requests.output - 1, 1),
        e2e=last - requests.arrival,
        held=released - arrivals.queued,
        moments=moments,
        owner=np.repeat(requests.tenant, requests.output),
    )


def _jitter(seed: int) -> Floats:
    """Draw what `engine.serve` draws of the way out, from the same seeds."""
    written = np.random.default_rng([seed, 5]).gamma(4.0, 0.25, (_NOISE, 1))
    reader = np.random.default_rng([seed, 6]).gamma(2.0, 0.5, (_NOISE, 1))
    return np.hstack([written, reader])
