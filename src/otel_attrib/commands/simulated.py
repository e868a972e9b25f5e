"""The account of a simulation: what was run, what is true of it, where it went and how to ask about it."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from otel_attrib.commands.wrapping import counted_noun, listed, told

if TYPE_CHECKING:
    from otel_attrib.fleet import Simulation, Truth
    from otel_attrib.fleet.deliver import Delivered

__all__ = ["as_dict", "lines", "question"]

_METRICS = ("ttft", "tpot", "e2e")
_SMALL_MS = 0.05


def question(simulation: "Simulation", dsn: str | None, url: str | None) -> str:
    """Return the command that asks about the run."""
    baseline, current = simulation.windows
    place = f" --dsn {dsn}" if dsn else f" --url {url}" if url else ""
    service = simulation.scenario.fleet.service
    return f"otel-attrib why --where service={service} --window {current} --baseline {baseline}{place}"


def as_dict(simulation: "Simulation", done: "Sequence[Delivered]", ask: str) -> dict[str, Any]:
    """Return the account for `--json`; the scenario stands in it with every default."""
    baseline, current = simulation.windows
    return {
        "schema": "otel-attrib/simulate/1",
        "scenario": asdict(simulation.scenario),
        "seed": simulation.seed,
        "rate": simulation.rate,
        "baseline": str(baseline),
        "current": str(current),
        "requests": simulation.run.requests.n,
        "steps": len(simulation.run.steps),
        "truth": {metric: simulation.truth_of(metric, 0.99).as_dict() for metric in _METRICS},
        "delivered": [asdict(one) for one in done],
        "ask": ask,
    }


def lines(simulation: "Simulation", done: "Sequence[Delivered]", ask: str) -> Iterator[str]:
    """Yield the account as text, what is true first."""
    scenario = simulation.scenario
    yield f"{scenario.name}: {scenario.title or 'a scenario of your own'}"
    yield from _setting(simulation)
    for metric in _METRICS:
        yield from told(metric.upper(), _change(simulation.truth_of(metric, 0.99)))
    truth = simulation.truth
    stages = {name: ms for name, ms in truth.stages.items() if abs(ms) >= _SMALL_MS}
    yield from listed("stages", (f"{name} {ms:+,.1f} ms" for name, ms in stages.items()))
    yield from told("right", " or ".join(truth.verdicts))
    for one in done:
        rows = f"{one.requests:,} requests, {one.steps:,} steps, {one.samples:,} readings, {one.marks} marks"
        yield from told("written", f"{rows} to {one.where}")
    if not done:
        yield from told("written", "nothing (--dsn, --url or --out says where to)")
    elif any(not one.where.startswith("/") for one in done):
        yield f"\n{ask}"


def _setting(simulation: "Simulation") -> Iterator[str]:
    from otel_attrib.fleet.cards import card_named

    scenario, truth = simulation.scenario, simulation.truth
    fleet = scenario.fleet
    engines = counted_noun(scenario.replicas, "engine")
    cards = f"{counted_noun(fleet.nodes, 'node')} of {fleet.gpus_per_node} × {card_named(fleet.card).title}"
    yield from told("fleet", f"{cards}; {engines} (tp {fleet.tp}) serve {' and '.join(scenario.models)}")
    requests = f"{simulation.run.requests.n:,} requests at {simulation.rate:,.1f}/s"
    yield from told("traffic", f"{requests}, lengths of {scenario.workload.source}, seed {simulation.seed}")
    for fault, where in zip(scenario.faults, truth.where, strict=True):
        yield from told("fault", f"{fault.kind}, severity {fault.severity:g}, on {where}")
    if scenario.shift.kind != "none":
        yield from told("shift", f"{scenario.shift.kind}, amount {scenario.shift.amount:g}")
    for decoy in scenario.decoys:
        yield from told("decoy", decoy.kind)


def _change(truth: "Truth") -> str:
    """Say the change of P99 and what it is made of."""
    parts = [f"{layer} {ms:+,.1f}" for layer, ms in truth.layers.items()]
    parts.append(f"workload, load and chance {truth.workload_ms:+,.1f}")
    change = f"P99 {truth.before_ms:,.1f} → {truth.after_ms:,.1f} ms ({truth.delta_ms:+,.1f})"
    return f"{change}: {', '.join(parts)}"
