"""Where faults and decoys act: device numbers, tenants and stretches of time; and the state they make."""

from dataclasses import dataclass

import numpy as np

from otel_attrib.errors import UsageError
from otel_attrib.fleet.cards import card_named
from otel_attrib.fleet.decoys import decoy_named
from otel_attrib.fleet.faults import Unit, family_named
from otel_attrib.fleet.scenario import Fault, Scenario
from otel_attrib.fleet.terms import TERMS, State, neutral, place

__all__ = ["Spans", "default_where", "devices_at", "spans_of", "state_of", "tenant_at"]

_TERM_NAMES = {term.name for term in TERMS}


@dataclass(frozen=True, slots=True)
class Spans:
    """Seconds from the run's start: the windows, each [start, end)."""

    warm: float
    baseline_end: float
    end: float

    def of(self, start: float, end: float) -> tuple[float, float]:
        """Place shares of the current window (`end = 0`: to its end and on)."""
        length = self.end - self.baseline_end
        return self.baseline_end + start * length, self.baseline_end + end * length if end else np.inf


def spans_of(scenario: Scenario, rate: float) -> Spans:
    """Return the windows of a run at a mean `rate` per second."""
    windows = scenario.windows
    length = windows.requests / rate if windows.requests else 0.0
    baseline, current = (length, length) if length else (windows.baseline, windows.current)
    warm = windows.warmup
    return Spans(warm, warm + baseline, warm + baseline + current)


def default_where(unit: Unit, scenario: Scenario) -> str:
    """Return what a fault of this unit hits when the scenario does not say."""
    if unit == "tenant":
        return f"tenant:{next(iter(scenario.workload.tenants))}"
    return {"gpu": "gpu:node-0/GPU-0", "node": "node:node-0", "fleet": "fleet"}[unit]


def devices_at(where: str, scenario: Scenario) -> list[int]:
    """Return the device numbers of `fleet`, `node:…`, `gpu:…` or `replica:…`; none for a tenant."""
    fleet = scenario.fleet
    kind, _, name = where.partition(":")
    everything = range(scenario.devices)
    names = [f"node-{number // fleet.gpus_per_node}" for number in everything]
    if kind == "fleet":
        return list(everything)
    if kind == "node":
        found = [number for number in everything if names[number] == name]
    elif kind == "gpu":
        found = [n for n in everything if f"{names[n]}/GPU-{n % fleet.gpus_per_node}" == name]
    elif kind == "replica":
        found = [number for number in everything if str(number // fleet.tp) == name]
    else:
        found = []
    if not found and kind != "tenant":
        raise UsageError(
            f"where = {where!r} is nothing here; write fleet, node:node-0, gpu:node-0/GPU-1, replica:0"
            " or tenant:NAME"
        )
    return found


def tenant_at(where: str, scenario: Scenario) -> int:
    """Return the number of `tenant:NAME`."""
    names = list(scenario.workload.tenants)
    name = where.removeprefix("tenant:")
    if name not in names:
        raise UsageError(f"where = {where!r}: no such tenant; there are {', '.join(names)}")
    return names.index(name)


def state_of(scenario: Scenario, spans: Spans) -> State:
    """Return the state that the scenario's faults and decoys make."""
    acts = [(fault, spans.of(fault.start, fault.end)) for fault in scenario.faults]
    edges = {0.0, spans.baseline_end, *(edge for _, span in acts for edge in span if np.isfinite(edge))}
    state = neutral(np.array(sorted(edges)), scenario.devices)
    card = card_named(scenario.fleet.card)
    for fault, (start, end) in acts:
        family = family_named(fault.kind)
        where = fault.where or default_where(family.unit, scenario)
        effects = family.effects(_severity(fault), card)
        _set(state, effects, start, end, devices_at(where, scenario) or list(range(scenario.devices)))
    for decoy in scenario.decoys:
        kind = decoy_named(decoy.kind)
        where = decoy.where or default_where(kind.unit, scenario)
        _set(state, kind.effects(card), spans.baseline_end, np.inf, devices_at(where, scenario))
    return state


def _severity(fault: Fault) -> float:
    if not 1 <= fault.severity <= 3:
        raise UsageError(f"severity of {fault.kind} is {fault.severity:g}; it goes from 1 to 3")
    return fault.severity


def _set(state: State, effects: dict[str, float], start: float, end: float, devices: list[int]) -> None:
    first = int(np.searchsorted(state.starts, start))
    last = int(np.searchsorted(state.starts, end))
    for name, value in effects.items():
        if name in _TERM_NAMES:
            place(state, name, value, slice(first, last), devices)
