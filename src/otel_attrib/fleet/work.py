"""How much a scenario would make, estimated before it is made: requests, steps, readings and memory.

The estimates go by what each part was measured to take; they are upper ones, for a refusal that comes too
early costs an option and one that comes too late the machine.
"""

import os
from dataclasses import dataclass
from typing import Final

from otel_attrib.errors import UsageError
from otel_attrib.fleet.cards import card_named, model_named
from otel_attrib.fleet.placing import Spans
from otel_attrib.fleet.scenario import Scenario

__all__ = ["MOST", "Work", "check_work", "work_of"]

MOST: Final = {"requests": 20_000_000, "steps": 200_000_000, "readings": 200_000_000}
"""What one run may make of each."""

_BURSTS: Final = ("tenant_burst", "arrival_burst", "diurnal")
_REQUEST_BYTES: Final = 900  # its rows and the numbers drawn for it
_TOKEN_BYTES: Final = 25  # when it was made and delivered, with what that takes on the way
_STEP_BYTES: Final = 400
_COUNTERS: Final = 45  # read of each card
_STEP_S: Final = 0.002  # that the CPU takes of each


@dataclass(frozen=True, slots=True)
class Work:
    """Upper estimates; `memory` in bytes."""

    requests: float
    steps: float
    readings: float
    memory: float


def work_of(scenario: Scenario, rate: float, spans: Spans) -> Work:
    """Estimate a run at a mean `rate` per second, with the runs that tell its truth."""
    workload, fleet, shift = scenario.workload, scenario.fleet, scenario.shift
    more = 1 + shift.amount if shift.kind in _BURSTS else 1.0
    longer = 1 + shift.amount if shift.kind == "output_mix" else 1.0
    requests = rate * spans.end * more
    written = min(workload.output_mean, workload.output_most) * longer
    tokens = requests * written
    chunks = min(workload.prompt_mean, workload.prompt_most) / fleet.token_budget
    paced = scenario.replicas * spans.end * max(workload.load, 1.0) * more * longer / _shortest_step(scenario)
    steps = min(requests * (written + chunks + 1), paced)
    readings = scenario.devices * spans.end / scenario.sensors.interval * _COUNTERS
    runs = 2 ** len(scenario.faults)
    memory = runs * (requests * _REQUEST_BYTES + tokens * _TOKEN_BYTES + steps * _STEP_BYTES)
    return Work(requests, steps, readings, memory)


def check_work(scenario: Scenario, rate: float, spans: Spans) -> None:
    """Refuse a run that is too large for any use, or for this machine's memory."""
    work = work_of(scenario, rate, spans)
    for name, most in MOST.items():
        if (found := getattr(work, name)) > most:
            raise UsageError(
                f"{scenario.name}: {spans.end:,.0f} s at {rate:,.1f} requests/s would make about"
                f" {found:,.0f} {name}, and {most:,} are the most: shorten [windows], lower"
                " workload.rate or load, or have fewer cards"
            )
    there = _memory()
    if work.memory > there:
        raise UsageError(
            f"{scenario.name}: {work.requests:,.0f} requests and {work.steps:,.0f} steps would take about"
            f" {work.memory / 1e9:,.0f} GB of memory, and this machine has {there / 1e9:,.0f}: shorten"
            " [windows], or lower workload.rate or load"
        )


def _shortest_step(scenario: Scenario) -> float:
    """Return the seconds below which no step goes: the weights are read once, and the CPU has its part."""
    fleet = scenario.fleet
    card = card_named(fleet.card)
    bandwidth = card.memory_bandwidth * (fleet.memory_efficiency or card.memory_efficiency)
    return _STEP_S + min(model_named(name).params for name in scenario.models) * 2 / fleet.tp / bandwidth


def _memory() -> float:
    """Return the bytes of memory that this machine has."""
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
