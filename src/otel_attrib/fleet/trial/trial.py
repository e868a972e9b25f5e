"""The trial: one scenario, several seeds, every arm on the same arrivals and the same chance.

Thresholds that nobody gives are what `slo derive` would propose, unrounded: 1.2 × P95 of TTFT in the quiet
window (the baseline, no gate, all seeds pooled), tenant by tenant. The total that is divided is what the
fleet can serve, in tokens a second: the fleet's own measured capacity in requests times their mean prompt
and output.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from otel_attrib.analytics.columns import Flags, Floats
from otel_attrib.analytics.control.factors import Policy
from otel_attrib.analytics.objectives.endpoint import HEADROOM, LEVEL
from otel_attrib.errors import UsageError
from otel_attrib.fleet.engine import capacity
from otel_attrib.fleet.placing import Spans, spans_of
from otel_attrib.fleet.scenario import Scenario
from otel_attrib.fleet.shifts import shifted
from otel_attrib.fleet.simulation import _check
from otel_attrib.fleet.trial.gate import Kind
from otel_attrib.fleet.trial.outcome import ARMS, Measures, Trial, measure
from otel_attrib.fleet.trial.play import Arrivals, Played, Rule, order_statistic, play
from otel_attrib.fleet.work import check_work
from otel_attrib.fleet.workload import draw

__all__ = ["Asked", "arrivals_of", "run_trial"]

Advance = Callable[[int], None]


@dataclass(frozen=True)
class Asked:
    """What to try; `policy`'s direction is set by the arm, `total` 0 means what the fleet can serve.

    `gate` says what becomes of a budget that is left over (`gate`, `shared_gate`).
    `thresholds_ms` and `shares` by tenant win over what is measured and over the scenario's shares.
    """

    scenario: Scenario
    seeds: int = 10
    policy: Policy = field(default_factory=Policy)
    total: float = 0.0
    thresholds_ms: Mapping[str, float] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)
    burst_s: float = 5.0
    gate: Kind = "limit"


def arrivals_of(scenario: Scenario, seed: int, rate: float, spans: Spans) -> Arrivals:
    """Draw the requests of one seed, as `simulate` does."""
    base = draw(scenario, rate, spans.end, np.random.default_rng([seed, 1]))
    return Arrivals(scenario, shifted(scenario, base, rate, spans, seed), spans, seed)


def run_trial(asked: Asked, advance: Advance = lambda _: None) -> Trial:
    """Run it; `advance` is called once for each arm of each seed."""
    scenario = asked.scenario
    _check(scenario)
    _check_names(asked)
    served = capacity(scenario)
    rate = scenario.workload.rate or scenario.workload.load * served
    spans = spans_of(scenario, rate)
    check_work(scenario, rate, spans)
    there = [arrivals_of(scenario, seed, rate, spans) for seed in range(asked.seeds)]
    opened = [_counted(play(one, None), advance) for one in there]
    mean = float(np.mean(np.concatenate([one.tokens for one in there])))
    rule = Rule(
        asked.total or served * mean,
        _shares(asked),
        _quiet(there, opened) | dict(asked.thresholds_ms),
        burst_s=asked.burst_s,
        level=LEVEL,
        gate=asked.gate,
    )
    runs: dict[str, dict[str, list[Measures]]] = {arm: {} for arm in ARMS}
    fairness: dict[str, list[float]] = {arm: [] for arm in ARMS}
    for one, seen in zip(there, opened, strict=True):
        for arm in ARMS:
            played = seen if arm == "open" else _counted(play(one, _rule(rule, arm, asked.policy)), advance)
            found, fair = measure(one, played, rule.thresholds_ms)
            fairness[arm].append(fair)
            for name, measures in found.items():
                runs[arm].setdefault(name, []).append(measures)
    return Trial(
        scenario.name,
        tuple(range(asked.seeds)),
        tuple(scenario.workload.tenants),
        rule.shares,
        rule.thresholds_ms,
        rule.total,
        _demand(there),
        runs,
        fairness,
        asked.gate,
    )


def _rule(rule: Rule, arm: str, policy: Policy) -> Rule:
    if arm == "fixed":
        return rule
    return replace(rule, policy=replace(policy, direction="boost" if arm == "boost" else "throttle"))


def _counted(played: Played, advance: Advance) -> Played:
    advance(1)
    return played


def _check_names(asked: Asked) -> None:
    tenants = asked.scenario.workload.tenants
    for what, given in (("a threshold", asked.thresholds_ms), ("a weight", asked.shares)):
        for name, value in given.items():
            if name not in tenants:
                raise UsageError(f"{what} for {name!r}: the scenario's tenants are {', '.join(tenants)}")
            if not 0 < value < np.inf:
                raise UsageError(f"{what} of {value:g} for {name} is none above 0")
    if asked.seeds < 2:
        raise UsageError(f"{asked.seeds} seed tells no interval; take 2 or more")


def _shares(asked: Asked) -> dict[str, float]:
    """Return every tenant's usual share; all of them above 0, or its requests would wait for ever."""
    given = asked.scenario.workload.tenants | dict(asked.shares)
    whole = sum(given.values())
    nobody = [name for name, share in given.items() if share <= 0]
    if nobody:
        raise UsageError(f"tenant {nobody[0]} has no share: a gate would hold its requests for ever")
    return {name: share / whole for name, share in given.items()}


def _quiet(there: list[Arrivals], opened: list[Played]) -> dict[str, float]:
    found = {}
    for number, name in enumerate(there[0].tenants):
        quiet = [
            played.ttft[(one.requests.tenant == number) & _baseline(one)]
            for one, played in zip(there, opened, strict=True)
        ]
        pooled: Floats = np.concatenate(quiet)
        if not pooled.size:
            raise UsageError(f"tenant {name} has no request in the baseline: give its threshold")
        found[name] = HEADROOM * order_statistic(pooled, LEVEL) * 1000
    return found


def _baseline(one: Arrivals) -> Flags:
    arrival = one.requests.arrival
    inside: Flags = (arrival >= one.spans.warm) & (arrival < one.spans.baseline_end)
    return inside


def _demand(there: list[Arrivals]) -> float:
    """Return the tokens a second asked for in the current window, over all seeds."""
    spans = there[0].spans
    asked = [
        float(
            one.tokens[
                (one.requests.arrival >= spans.baseline_end) & (one.requests.arrival < spans.end)
            ].sum()
        )
        for one in there
    ]
    return float(np.mean(asked)) / (spans.end - spans.baseline_end)
