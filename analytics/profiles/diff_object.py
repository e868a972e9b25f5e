"""A diff of two profiles as the JSON object `otel-attrib/profile-diff/1`; times in microseconds a step."""

from typing import Any

from otel_attrib.analytics.profiles.diff import Diff, Moved, Side
from otel_attrib.analytics.profiles.diff_text import answer

__all__ = ["SCHEMA", "diff_object"]

SCHEMA = "otel-attrib/profile-diff/1"


def diff_object(found: Diff) -> dict[str, Any]:
    """Return the whole object; `work` is null when the launches did not change by one factor."""
    return {
        "schema": SCHEMA,
        "answer": answer(found),
        "a": _side(found.a),
        "b": _side(found.b),
        "gpu_delta_us": _us(found.gpu_delta_ns),
        "gpu_delta_by_launches_us": _us(found.by_launches_ns),
        "gpu_delta_by_duration_us": _us(found.by_duration_ns),
        "step_delta_us": _us(found.step_delta_ns),
        "step_change": found.step_change,
        "step_moved": found.step_moved,
        "work": found.work,
        "shared": found.shared,
        "classes": [_moved(row, "class") for row in found.classes],
        "kernels": [_moved(row, "name") for row in found.names],
    }


def _side(side: Side) -> dict[str, Any]:
    return {
        "file": side.path,
        "devices": side.devices,
        "steps": side.steps,
        "marks": side.marks,
        "step_us": _us(side.step_ns),
        "step_error_us": None if side.step_error_ns is None else _us(side.step_error_ns),
        "gpu_us": _us(side.gpu_ns),
        "kernels": side.kernels,
        "missing": list(side.missing),
        "parts_us": {name: _us(ns) for name, ns in side.parts_ns.items()},
    }


def _moved(row: Moved, called: str) -> dict[str, Any]:
    return {
        called: row.name,
        "count_a": row.count_a,
        "count_b": row.count_b,
        "us_a": _us(row.ns_a),
        "us_b": _us(row.ns_b),
        "delta_us": _us(row.delta_ns),
        "by_launches_us": _us(row.by_launches_ns),
        "by_duration_us": _us(row.by_duration_ns),
    }


def _us(ns: float) -> float:
    return round(ns / 1e3, 3)
