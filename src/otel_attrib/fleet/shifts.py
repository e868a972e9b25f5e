"""Changes of the workload: what users do, and no layer's fault. They act on requests already drawn."""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from otel_attrib.analytics.columns import Flags, Floats
from otel_attrib.errors import UsageError
from otel_attrib.fleet.placing import Spans, devices_at, tenant_at
from otel_attrib.fleet.scenario import Scenario
from otel_attrib.fleet.workload import Requests, draw

__all__ = ["SHIFTS", "shifted"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of shift and the line it belongs on: workload, load, or none when nothing changes."""

    line: str
    meaning: str


SHIFTS: Final = {
    "none": Kind("none", "nothing changes"),
    "diurnal": Kind("load", "the rate follows the time of day: `amount` more at the current window's end"),
    "prompt_mix": Kind("workload", "prompts are (1 + `amount`) times as long"),
    "output_mix": Kind("load", "outputs are (1 + `amount`) times as long"),
    "tenant_burst": Kind("load", "one tenant sends (1 + `amount`) times as much"),
    "arrival_burst": Kind("load", "everybody sends (1 + `amount`) times as much"),
    "routing": Kind("load", "one node gets (1 + `amount`) times its share"),
    "model_mix": Kind("workload", "the last model gets `amount` of its requests more from the first"),
}


def shifted(scenario: Scenario, base: Requests, rate: float, spans: Spans, seed: int) -> Requests:
    """Return the requests with the scenario's shift."""
    shift = scenario.shift
    if shift.kind not in SHIFTS:
        raise UsageError(f"no shift {shift.kind!r}; choose one of {', '.join(SHIFTS)}")
    start, end = spans.of(shift.start, shift.end)
    rng = np.random.default_rng([seed, 2])
    inside = (base.arrival >= start) & (base.arrival < end)
    if shift.kind == "none":
        return base
    if shift.kind == "prompt_mix":
        return _longer(base, inside, shift.amount, scenario)
    if shift.kind == "output_mix":
        output = np.where(inside, np.rint(base.output * (1 + shift.amount)), base.output).astype(np.int64)
        return replace(base, output=np.minimum(output, scenario.workload.output_most * 2))
    if shift.kind == "model_mix":
        return _models(base, inside, scenario, rng)
    if shift.kind == "routing":
        return _routing(base, inside, scenario, rng)
    more = draw(scenario, rate * max(shift.amount, 1e-9), spans.end, np.random.default_rng([seed, 9]))
    kept = (more.arrival >= start) & (more.arrival < end)
    if shift.kind == "tenant_burst":
        kept &= more.tenant == _tenant(scenario)
    if shift.kind == "diurnal":
        kept = _thinned(more.arrival, spans, rng)
    return _merged(base, more, kept)


def _tenant(scenario: Scenario) -> int:
    where = scenario.shift.where or f"tenant:{next(iter(scenario.workload.tenants))}"
    return tenant_at(where, scenario)


def _thinned(arrival: Floats, spans: Spans, rng: np.random.Generator) -> Flags:
    """Keep more and more of what comes, from none at the baseline's start to all at the end."""
    place = (arrival - spans.warm) / (spans.end - spans.warm)
    kept: Flags = rng.random(arrival.size) < np.clip(place, 0, 1)
    return kept


def _longer(base: Requests, inside: Flags, amount: float, scenario: Scenario) -> Requests:
    longer = np.minimum(np.rint(base.prompt * (1 + amount)), scenario.workload.prompt_most * 2)
    prompt = np.where(inside, longer, base.prompt).astype(np.int64)
    return replace(base, prompt=prompt, shared=np.minimum(base.shared, prompt))


def _models(base: Requests, inside: Flags, scenario: Scenario, rng: np.random.Generator) -> Requests:
    count = len(scenario.models)
    if count < 2:
        raise UsageError("shift.kind = 'model_mix' needs two models: fleet.model = ['…', '…']")
    moved = inside & (base.model == 0) & (rng.random(base.n) < scenario.shift.amount)
    places = np.arange(count - 1, scenario.replicas, count)
    replica = np.where(moved, places[rng.integers(0, places.size, base.n)], base.replica)
    return replace(base, model=np.where(moved, count - 1, base.model), replica=replica)


def _routing(base: Requests, inside: Flags, scenario: Scenario, rng: np.random.Generator) -> Requests:
    """Send some of the others' requests to one node's replicas of the same model."""
    devices = devices_at(scenario.shift.where or "node:node-0", scenario)
    places = np.unique(np.array(devices) // scenario.fleet.tp)
    there = np.isin(base.replica, places)
    share = scenario.shift.amount * places.size / max(scenario.replicas - places.size, 1)
    moved = inside & ~there & (rng.random(base.n) < share)
    replica = base.replica.copy()
    for number in range(len(scenario.models)):
        mine = places[places % len(scenario.models) == number]
        rows = np.flatnonzero(moved & (base.model == number))
        if mine.size:
            replica[rows] = mine[rng.integers(0, mine.size, rows.size)]
    return replace(base, replica=replica)


def _merged(base: Requests, more: Requests, kept: Flags) -> Requests:
    """Return both by arrival; the base's rows come first where they tie."""
    names = ("arrival", "prompt", "output", "shared", "tenant", "model", "luck", "on_host", "replica")
    columns = {name: np.concatenate([getattr(base, name), getattr(more, name)[kept]]) for name in names}
    order = np.argsort(columns["arrival"], kind="stable")
    return Requests(**{name: column[order] for name, column in columns.items()})
