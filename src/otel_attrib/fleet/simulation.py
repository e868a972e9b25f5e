"""`simulate`: a scenario and a seed into tables with the store's columns, and the truth about them."""

import math
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import combinations

import numpy as np
import pyarrow as pa

from otel_attrib.analytics.columns import Flags, Floats
from otel_attrib.analytics.windows import Window, rfc3339
from otel_attrib.errors import UsageError
from otel_attrib.fleet.activity import activity_of
from otel_attrib.fleet.cards import card_named
from otel_attrib.fleet.counters import sample_table
from otel_attrib.fleet.engine import Run, capacity, serve
from otel_attrib.fleet.faults import family_named
from otel_attrib.fleet.marks import mark_table
from otel_attrib.fleet.placing import Spans, default_where, devices_at, spans_of, state_of, tenant_at
from otel_attrib.fleet.scenario import Scenario
from otel_attrib.fleet.shifts import SHIFTS, shifted
from otel_attrib.fleet.tables import request_table, stages_of, step_table
from otel_attrib.fleet.terms import State
from otel_attrib.fleet.truth import Truth, quantile_of, stage_shares
from otel_attrib.fleet.workload import Requests, draw
from otel_attrib.schema.attributes import DECODE_STAGES, STAGES

__all__ = ["Simulation", "paired", "simulate"]


@dataclass(frozen=True)
class Simulation:
    """What one run left, with the warm-up before the baseline; `windows` are (baseline, current).

    `truth` (TTFT at P99) and `truth_of` run the same requests again without the faults, once.
    """

    scenario: Scenario
    seed: int
    rate: float
    spans: Spans
    run: Run
    state: State

    @cached_property
    def requests(self) -> pa.Table:
        """Return the rows of `requests`."""
        return request_table(self.scenario, self.run, self.state, self.seed)

    @cached_property
    def steps(self) -> pa.Table:
        """Return the rows of `steps`."""
        return step_table(self.scenario, self.run)

    @cached_property
    def samples(self) -> pa.Table:
        """Return the rows of `samples`."""
        seen = activity_of(self.scenario, self.run, self.state, self.spans.end)
        return sample_table(self.scenario, self.state, seen, self.seed)

    @cached_property
    def marks(self) -> pa.Table:
        """Return the rows of `marks`."""
        return mark_table(self.scenario, self.spans)

    @property
    def windows(self) -> tuple[Window, Window]:
        """Return baseline and current."""
        start = self.scenario.starts
        middle = start + timedelta(seconds=self.spans.baseline_end - self.spans.warm)
        end = start + timedelta(seconds=self.spans.end - self.spans.warm)
        return Window(start, middle), Window(middle, end)

    def starting(self, time: datetime) -> "Simulation":
        """Return the same run with its baseline starting at `time`."""
        windows = replace(self.scenario.windows, start=rfc3339(time))
        return replace(self, scenario=replace(self.scenario, windows=windows))

    @property
    def length(self) -> timedelta:
        """Return how long both windows last."""
        return timedelta(seconds=self.spans.end - self.spans.warm)

    @property
    def truth(self) -> Truth:
        """Return the truth about P99 of TTFT."""
        return self.truth_of("ttft", 0.99)

    def truth_of(self, metric: str, level: float) -> Truth:
        """Return the truth about another metric (`ttft`, `tpot`, `e2e`) or level."""
        return _truth(self, metric, level)

    @cached_property
    def alone(self) -> dict[tuple[int, ...], Run]:
        """Return the run with each set of its faults, by their numbers; all of them is this run."""
        everything = tuple(range(len(self.scenario.faults)))
        found = {everything: self.run}
        for size in range(len(everything)):
            for chosen in combinations(everything, size):
                faults = tuple(self.scenario.faults[number] for number in chosen)
                found[chosen] = _serve(
                    replace(self.scenario, faults=faults), self.run.requests, self.spans, self.seed
                )[0]
        return found


def simulate(scenario: Scenario, seed: int = 0, fault: bool = True) -> Simulation:
    """Run a scenario; without `fault` the same requests meet a fleet in which nothing breaks."""
    _check(scenario)
    chosen = scenario if fault else scenario.without_faults()
    rate = scenario.workload.rate or scenario.workload.load * capacity(scenario)
    spans = spans_of(scenario, rate)
    base = draw(scenario, rate, spans.end, np.random.default_rng([seed, 1]))
    requests = shifted(scenario, base, rate, spans, seed)
    run, state = _serve(chosen, requests, spans, seed)
    return Simulation(chosen, seed, rate, spans, run, state)


def paired(scenario: Scenario, seed: int = 0) -> tuple[Simulation, Simulation]:
    """Return the run with the faults and the same without."""
    return simulate(scenario, seed, True), simulate(scenario, seed, False)


def _check(scenario: Scenario) -> None:
    fleet = scenario.fleet
    if fleet.tp < 1 or fleet.gpus_per_node % fleet.tp:
        raise UsageError(f"tp = {fleet.tp} does not divide the {fleet.gpus_per_node} cards of a node")
    if scenario.replicas < len(scenario.models):
        raise UsageError(
            f"{scenario.replicas} replicas for {len(scenario.models)} models: more nodes or a smaller tp"
        )
    if len(scenario.faults) > 3:
        raise UsageError("at most three faults: the truth takes a run for each set of them")


def _serve(scenario: Scenario, requests: Requests, spans: Spans, seed: int) -> tuple[Run, State]:
    state = state_of(scenario, spans)
    return serve(scenario, requests, state, _slow(scenario, requests, spans), seed), state


def _slow(scenario: Scenario, requests: Requests, spans: Spans) -> Floats:
    """Return (n,) mean seconds that each request's reader holds back a token."""
    found = np.zeros(requests.n)
    for fault in scenario.faults:
        family = family_named(fault.kind)
        if family.unit == "tenant":
            effects = family.effects(fault.severity, card_named(scenario.fleet.card))
            where = fault.where or default_where("tenant", scenario)
            start, end = spans.of(fault.start, fault.end)
            mine = (requests.tenant == tenant_at(where, scenario)) & (requests.arrival >= start)
            found[mine & (requests.arrival < end)] += effects["slow"]
    return found


def _rows(run: Run, metric: str) -> Floats:
    """Return (n, K) ms: the parts of a metric, of every request."""
    times = stages_of(run)
    first = [times[f"{stage}_us"] for stage in STAGES if stage != "outside"]
    later = [times[f"decode_{stage}_us"] for stage in DECODE_STAGES]
    after = np.maximum(run.requests.output - 1, 0)
    parts = {"ttft": first, "tpot": later, "e2e": [*first, *(part * after for part in later)]}
    if metric not in parts:
        raise UsageError(f"no truth for {metric!r}; there is one for {', '.join(parts)}")
    return np.column_stack(parts[metric]) / 1e3


def _names(metric: str) -> list[str]:
    first = [stage for stage in STAGES if stage != "outside"]
    later = list(DECODE_STAGES)
    return {"ttft": first, "tpot": later, "e2e": [*first, *(f"decode_{name}" for name in later)]}[metric]


def _truth(simulation: Simulation, metric: str, level: float) -> Truth:
    scenario, spans, arrival = simulation.scenario, simulation.spans, simulation.run.requests.arrival
    a = (arrival >= spans.warm) & (arrival < spans.baseline_end)
    b = (arrival >= spans.baseline_end) & (arrival < spans.end)
    runs = {chosen: _rows(run, metric) for chosen, run in simulation.alone.items()}
    values = {chosen: quantile_of(rows[b].sum(axis=1), level) for chosen, rows in runs.items()}
    everything = tuple(range(len(scenario.faults)))
    before = quantile_of(runs[everything][a].sum(axis=1), level)
    fault, workload = values[everything] - values[()], values[()] - before
    layers: dict[str, float] = {}
    for number, share in enumerate(_shapley(values, len(everything))):
        layer = family_named(scenario.faults[number].kind).layer
        layers[layer] = layers.get(layer, 0.0) + share
    shares = stage_shares(runs[()][b], runs[everything][b], level)
    least = max(0.05 * before, 5.0 if metric != "tpot" else 0.5)
    line = SHIFTS[scenario.shift.kind].line
    return Truth(
        kind="fault" if everything else ("null" if not scenario.decoys else "decoy"),
        families=tuple(one.kind for one in scenario.faults),
        layers=layers,
        stages=dict(zip(_names(metric), map(float, shares), strict=True)),
        fault_ms=fault,
        workload_ms=workload,
        before_ms=before,
        after_ms=values[everything],
        delta_ms=values[everything] - before,
        verdicts=_verdicts(fault, workload, least, len(layers), line),
        where=tuple(
            one.where or default_where(family_named(one.kind).unit, scenario) for one in scenario.faults
        ),
        shift=scenario.shift.kind,
        shift_line=line,
        decoys=tuple(decoy.kind for decoy in scenario.decoys),
        missing=tuple(scenario.sensors.missing),
        hit=_hit(simulation) & b,
    )


def _shapley(values: dict[tuple[int, ...], float], count: int) -> list[float]:
    """Share v(all) − v(none) among the faults: the mean of what each adds over all orders."""
    found = [0.0] * count
    for chosen, value in values.items():
        for number in set(range(count)) - set(chosen):
            size = len(chosen)
            weight = math.factorial(size) * math.factorial(count - size - 1) / math.factorial(count)
            found[number] += weight * (values[tuple(sorted((*chosen, number)))] - value)
    return found


def _verdicts(fault: float, workload: float, least: float, layers: int, line: str) -> tuple[str, ...]:
    """Return the words that are right; to abstain is not wrong either, and not listed."""
    delta = fault + workload
    found = []
    if fault > least and fault >= 0.4 * delta:
        found += ["CAUSE", "CAUSE_SET"] if layers < 2 else ["CAUSE_SET", "CAUSE"]
    if workload > least and workload >= 0.4 * delta:
        found += {"workload": ["MIX"], "load": ["LOAD", "MIX"]}.get(line, ["LOAD", "MIX"])
        found.append("GLOBAL")
    if delta <= 1.5 * least:
        found.append("NO_REGRESSION")
    return tuple(found) or ("CAUSE", "CAUSE_SET", "MIX", "LOAD")


def _hit(simulation: Simulation) -> Flags:
    """Return which requests met a fault: on its devices or of its tenant, while it lasted."""
    requests, scenario = simulation.run.requests, simulation.scenario
    found = np.zeros(requests.n, dtype=np.bool_)
    for fault in scenario.faults:
        where = fault.where or default_where(family_named(fault.kind).unit, scenario)
        start, end = simulation.spans.of(fault.start, fault.end)
        during = (requests.arrival >= start) & (requests.arrival < end)
        if where.startswith("tenant:"):
            found |= during & (requests.tenant == tenant_at(where, scenario))
        else:
            places = np.unique(np.array(devices_at(where, scenario)) // scenario.fleet.tp)
            found |= during & np.isin(requests.replica, places)
    return found
