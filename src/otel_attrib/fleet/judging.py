"""The truth about a run, from the same requests under each set of its faults."""

import math
from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics.columns import Flags, Floats
from otel_attrib.errors import UsageError
from otel_attrib.fleet.engine import Run
from otel_attrib.fleet.faults import family_named
from otel_attrib.fleet.placing import Spans, default_where, devices_at, tenant_at
from otel_attrib.fleet.scenario import Scenario
from otel_attrib.fleet.shifts import SHIFTS
from otel_attrib.fleet.tables import stages_of
from otel_attrib.fleet.truth import Truth, quantile_of, stage_shares
from otel_attrib.schema.attributes import DECODE_STAGES, STAGES

__all__ = ["Compared", "truth_of"]


@dataclass(frozen=True)
class Compared:
    """Paired runs: `alone` by the numbers of the faults that act; with all of them it is `run`."""

    scenario: Scenario
    spans: Spans
    run: Run
    alone: dict[tuple[int, ...], Run]
    metric: str


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


def truth_of(compared: Compared, level: float) -> Truth:
    """Work out the truth about a metric at a level."""
    scenario, spans, metric = compared.scenario, compared.spans, compared.metric
    arrival = compared.run.requests.arrival
    a = (arrival >= spans.warm) & (arrival < spans.baseline_end)
    b = (arrival >= spans.baseline_end) & (arrival < spans.end)
    runs = {chosen: _rows(run, metric) for chosen, run in compared.alone.items()}
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
        hit=_hit(compared) & b,
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
        found += ["MIX", "LOAD"] if line == "workload" else ["LOAD", "MIX"]
        found.append("GLOBAL")
    if delta <= 2 * least:  # an interval as wide as the rise is common there
        found.append("NO_REGRESSION")
    return tuple(found) or ("CAUSE", "CAUSE_SET", "MIX", "LOAD")


def _hit(compared: Compared) -> Flags:
    """Return which requests met a fault: on its devices or of its tenant, while it lasted."""
    requests, scenario = compared.run.requests, compared.scenario
    found = np.zeros(requests.n, dtype=np.bool_)
    for fault in scenario.faults:
        where = fault.where or default_where(family_named(fault.kind).unit, scenario)
        start, end = compared.spans.of(fault.start, fault.end)
        during = (requests.arrival >= start) & (requests.arrival < end)
        if where.startswith("tenant:"):
            found |= during & (requests.tenant == tenant_at(where, scenario))
        else:
            places = np.unique(np.array(devices_at(where, scenario)) // scenario.fleet.tp)
            found |= during & np.isin(requests.replica, places)
    return found
