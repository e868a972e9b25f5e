"""A breakdown as the JSON object `otel-attrib/profile/1`: microseconds, bytes, 10⁹ bytes a second.

What the file does not say is null. Beyond the fields that are promised, `parts_us` splits the busy time
by what ran together, `kernels[].busy_us` counts parallel kernels of a class once (`us` adds them up),
and `streams` has each stream's own gaps.
"""

from collections.abc import Sequence
from typing import Any

from otel_attrib.analytics.profiles.breakdown import Breakdown
from otel_attrib.analytics.profiles.copies import Copies
from otel_attrib.analytics.profiles.idle import Idle
from otel_attrib.analytics.profiles.launching import Launching
from otel_attrib.analytics.profiles.timeline import UNKNOWN
from otel_attrib.analytics.profiles.verdict import verdict

__all__ = ["SCHEMA", "device_object", "profile_object"]

SCHEMA = "otel-attrib/profile/1"
Object = dict[str, Any]


def profile_object(devices: Sequence[Breakdown], missing: Sequence[tuple[str, str]]) -> Object:
    """Return the whole object; several files stand in one list of devices, `missing` is (file, text)."""
    said = [{"file": file, "missing": text} for file, text in missing]
    return {"schema": SCHEMA, "devices": [device_object(one) for one in devices], "missing": said}


def device_object(one: Breakdown) -> Object:
    """Return one device."""
    return {
        "device": one.device,
        "span_us": _us(one.span_ns),
        "compute_us": _us(one.compute_ns),
        "communication_us": _us(one.communication_ns),
        "memory_us": _us(one.memory_ns),
        **_idle(one.idle),
        "overlap_communication_share": one.overlap_share,
        "copies": {copy.direction: _copies(copy) for copy in one.copies},
        "kernels": [
            {"class": kind.kind, "us": _us(kind.sum_ns), "count": kind.count, "busy_us": _us(kind.busy_ns)}
            for kind in one.kernels
        ],
        "verdict": verdict(one),
        "name": one.name or None,
        "rank": None if one.rank == UNKNOWN else one.rank,
        "file": one.path,
        "parts_us": {part: _us(ns) for part, ns in one.parts_ns.items()},
        "streams": [{"stream": row.stream, **_idle(row.idle)} for row in one.streams],
        "launches": None if one.launching is None else _launches(one.launching),
    }


def _idle(idle: Idle) -> Object:
    """Return the idle time and its parts; the parts are null when no call of the host was recorded."""
    seen = idle.unknown_ns < idle.total_ns or not idle.total_ns
    parts = {"idle_host_us": idle.host_ns, "idle_kernel_us": idle.kernel_ns, "idle_other_us": idle.other_ns}
    return {
        "idle_us": _us(idle.total_ns),
        **{name: _us(ns) if seen else None for name, ns in parts.items()},
        "idle_unknown_us": _us(idle.unknown_ns),
    }


def _copies(copy: Copies) -> Object:
    return {
        "busy_us": _us(copy.busy_ns),
        "bytes": copy.bytes,
        "gb_per_s": copy.gb_per_s,
        "count": copy.count,
    }


def _launches(one: Launching) -> Object:
    return {
        "calls": one.calls,
        "activities": one.activities,
        "shorter_than_call": one.short,
        "call_us": _us(one.call_ns),
        "delay_p50_us": _us(one.delay_p50_ns),
        "delay_p99_us": _us(one.delay_p99_ns),
        "queue_mean": one.queue_mean,
        "queue_longest": one.queue_longest,
    }


def _us(ns: float) -> float:
    return round(ns / 1e3, 3)
