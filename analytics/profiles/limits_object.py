"""What bounds a profile as the JSON object `otel-attrib/profile-roofline/1`; what is not known is null."""

from collections.abc import Sequence
from typing import Any

from otel_attrib.analytics.profiles.collectives import CollectiveUse
from otel_attrib.analytics.profiles.limits import Limits
from otel_attrib.analytics.profiles.link_use import LinkUse
from otel_attrib.analytics.profiles.roofline import ClassRoof
from otel_attrib.analytics.profiles.roofline_text import answer

__all__ = ["SCHEMA", "limits_object"]

SCHEMA = "otel-attrib/profile-roofline/1"
Object = dict[str, Any]


def limits_object(devices: Sequence[Limits], missing: Sequence[str] = ()) -> Object:
    """Return the whole object; `missing` is what the file does not say."""
    return {
        "schema": SCHEMA,
        "answer": answer(devices),
        "devices": [_device(one) for one in devices],
        "missing": list(missing),
    }


def _device(one: Limits) -> Object:
    rule = one.rule
    return {
        "device": one.device,
        "name": one.name or None,
        "card": one.card.key if one.card else None,
        "classes": [_class(roof) for roof in one.roofs],
        "rule_of_thumb": None
        if rule is None
        else {"share": rule.share, "applies": rule.applies, "verdict": rule.verdict, "text": rule.text},
        "copies": [_copies(use) for use in one.links],
        "collectives": [_collective(use) for use in one.collectives],
    }


def _class(roof: ClassRoof) -> Object:
    return {
        "class": roof.kind,
        "count": roof.count,
        "us": _us(roof.time_ns),
        "known_us": _us(roof.known_ns),
        "flops": roof.flops,
        "bytes": roof.bytes,
        "intensity": roof.intensity,
        "compute_share": roof.compute_share,
        "memory_share": roof.memory_share,
        "verdict": roof.verdict,
        "reason": roof.reason,
    }


def _copies(use: LinkUse) -> Object:
    return {
        "direction": use.copies.direction,
        "count": use.copies.count,
        "bytes": use.copies.bytes,
        "busy_us": _us(use.copies.busy_ns),
        "gb_per_s": use.copies.gb_per_s,
        "over": use.over or None,
        "capacity_gb_per_s": None if use.capacity is None else use.capacity / 1e9,
        "share": use.share,
        "pageable_bytes": use.pageable,
        "reason": use.reason or None,
    }


def _collective(use: CollectiveUse) -> Object:
    return {
        "operation": use.operation,
        "library": use.library,
        "ranks": use.ranks if use.ranks > 0 else None,
        "bytes": use.bytes if use.bytes > 0 else None,
        "dtype": use.dtype or None,
        "count": use.count,
        "us": _us(use.total_ns),
        "fastest_us": _us(use.fastest_ns),
        "median_us": _us(use.median_ns),
        "measured_us": use.measured.us,
        "measured_by": use.measured.source if use.measured.us is not None else None,
        "times_measured": use.times_measured,
        "above_measured_us": None if use.above_ns is None else _us(use.above_ns),
        "bus_gb_per_s": None if use.bus_bytes_per_second is None else use.bus_bytes_per_second / 1e9,
        "verdict": use.verdict,
    }


def _us(ns: float) -> float:
    return round(ns / 1e3, 3)
