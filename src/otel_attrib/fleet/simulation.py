"""`simulate`: a scenario and a seed into tables with the store's columns, and the truth about them."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import combinations

import numpy as np
import pyarrow as pa

from otel_attrib.analytics.columns import Floats
from otel_attrib.analytics.windows import Window, rfc3339
from otel_attrib.errors import UsageError
from otel_attrib.fleet.activity import activity_of
from otel_attrib.fleet.cards import card_named
from otel_attrib.fleet.counters import sample_table
from otel_attrib.fleet.engine import Run, capacity, serve
from otel_attrib.fleet.faults import family_named
from otel_attrib.fleet.judging import Compared, truth_of
from otel_attrib.fleet.marks import mark_table
from otel_attrib.fleet.placing import Spans, default_where, spans_of, state_of, tenant_at
from otel_attrib.fleet.scenario import Scenario
from otel_attrib.fleet.shifts import shifted
from otel_attrib.fleet.tables import request_table, step_table
from otel_attrib.fleet.terms import State
from otel_attrib.fleet.truth import Truth
from otel_attrib.fleet.work import check_work
from otel_attrib.fleet.workload import Requests, draw

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
        if (metric, level) not in self._truths:
            self._truths[metric, level] = truth_of(self.compared(metric), level)
        return self._truths[metric, level]

    @cached_property
    def _truths(self) -> dict[tuple[str, float], Truth]:
        return {}

    def compared(self, metric: str) -> Compared:
        """Return the runs with each set of the faults, as the truth compares them."""
        return Compared(self.scenario, self.spans, self.run, self.alone, metric)

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
    check_work(scenario, rate, spans)
    base = draw(scenario, rate, spans.end, np.random.default_rng([seed, 1]))
    requests = shifted(scenario, base, rate, spans, seed)
    run, state = _serve(chosen, requests, spans, seed)
    return Simulation(chosen, seed, rate, spans, run, state)


def paired(scenario: Scenario, seed: int = 0) -> tuple[Simulation, Simulation]:
    """Return the run with the faults and the same without."""
    return simulate(scenario, seed, True), simulate(scenario, seed, False)


def _check(scenario: Scenario) -> None:
    fleet = scenario.fleet
    if scenario.devices > 4096:
        raise UsageError(f"nodes × gpus_per_node is {scenario.devices:,} cards; at most 4,096")
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
