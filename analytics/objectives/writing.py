"""Objectives as OpenSLO v1 YAML; `load_objectives` reads the same objectives back."""

from collections.abc import Iterator, Sequence
from typing import Any

from otel_attrib.analytics.filters import Filter
from otel_attrib.analytics.objectives.burn import BurnPair
from otel_attrib.analytics.objectives.classes import PREFIX
from otel_attrib.analytics.objectives.indicator import SOURCE
from otel_attrib.analytics.objectives.library import VERSION
from otel_attrib.analytics.objectives.objective import Objective
from otel_attrib.analytics.objectives.times import duration_word, latency_word

__all__ = ["openslo_objects", "openslo_yaml"]


def openslo_yaml(objectives: Sequence[Objective], comment: str = "") -> str:
    """Write objectives, one document each; `comment` becomes lines that begin with #."""
    import yaml

    head = "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines())
    body = yaml.safe_dump_all(
        openslo_objects(objectives), sort_keys=False, allow_unicode=True, width=100, explicit_start=False
    )
    return head + body


def openslo_objects(objectives: Sequence[Objective]) -> list[dict[str, Any]]:
    """Return the documents: each objective, with the alert policies that it has of its own before it."""
    return [document for objective in objectives for document in _documents(objective)]


def _documents(objective: Objective) -> Iterator[dict[str, Any]]:
    policies = [f"{objective.name}-{number}" for number, _ in enumerate(objective.alerts, 1)]
    if policies:
        yield _target_document(objective.name)
    for name, pair in zip(policies, objective.alerts, strict=True):
        yield _policy(name, objective.name, pair)
    yield _slo(objective, policies)


def _slo(objective: Objective, policies: list[str]) -> dict[str, Any]:
    method = "Occurrences" if objective.slices is None else "Timeslices"
    spec = {
        "description": objective.description,
        "service": objective.service or "llm",
        "indicator": {
            "metadata": {"name": f"{objective.name}-good"},
            "spec": {"ratioMetric": _ratio(objective)},
        },
        "timeWindow": [{"duration": duration_word(objective.window), "isRolling": True}],
        "budgetingMethod": method,
        "objectives": [_entry(objective)],
        "alertPolicies": policies,
    }
    return {
        "apiVersion": VERSION,
        "kind": "SLO",
        "metadata": _metadata(objective),
        "spec": {name: value for name, value in spec.items() if value not in ("", [])},
    }


def _metadata(objective: Objective) -> dict[str, Any]:
    found: dict[str, Any] = {"name": objective.name}
    if objective.title not in ("", objective.name):
        found["displayName"] = objective.title
    notes = {
        "class": objective.sla_class,
        "baseline-ms": _number(objective.baseline_ms),
        "buffer-ms": _number(objective.buffer_ms),
        "actions": ", ".join(objective.actions),
    }
    ours = {f"{PREFIX}{name}": value for name, value in notes.items() if value}
    return found | ({"annotations": ours} if ours else {})


def _ratio(objective: Objective) -> dict[str, Any]:
    where = _where(objective.where)
    good = {
        "limits": {limit.metric: latency_word(limit.ms) for limit in objective.limits},
        "joint": objective.joint,
        **where,
    }
    # Two mappings, so that the dump writes no alias.
    return {"counter": True, "good": _source(good), "total": _source(_where(objective.where))}


def _source(spec: dict[str, Any]) -> dict[str, Any]:
    return {"metricSource": {"type": SOURCE, "spec": spec}}


def _where(where: Filter) -> dict[str, Any]:
    chosen = {name: values[0] if len(values) == 1 else list(values) for name, values in where.allowed}
    return {"where": chosen} if chosen else {}


def _entry(objective: Objective) -> dict[str, Any]:
    entry: dict[str, Any] = {"target": objective.target}
    if objective.slices is not None:
        entry["timeSliceTarget"] = objective.slices.target
        entry["timeSliceWindow"] = duration_word(objective.slices.length)
    return entry


def _policy(name: str, objective: str, pair: BurnPair) -> dict[str, Any]:
    condition = {
        "kind": "burnrate",
        "op": "gt",
        "threshold": pair.factor,
        "lookbackWindow": duration_word(pair.long),
        "alertAfter": duration_word(pair.short),
    }
    spec = {
        "alertWhenNoData": False,
        "alertWhenResolved": False,
        "alertWhenBreaching": True,
        "conditions": [
            {
                "kind": "AlertCondition",
                "metadata": {"name": f"{name}-burn"},
                "spec": {"severity": pair.severity, "condition": condition},
            }
        ],
        "notificationTargets": [{"targetRef": f"{objective}-target"}],
    }
    return {"apiVersion": VERSION, "kind": "AlertPolicy", "metadata": {"name": name}, "spec": spec}


def _target_document(objective: str) -> dict[str, Any]:
    return {
        "apiVersion": VERSION,
        "kind": "AlertNotificationTarget",
        "metadata": {"name": f"{objective}-target"},
        "spec": {"target": "elsewhere"},
    }


def _number(ms: float | None) -> str:
    return "" if ms is None else latency_word(ms).removesuffix("ms")
