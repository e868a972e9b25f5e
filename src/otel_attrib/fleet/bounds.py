"""How far each number of a scenario may go: beyond it no fleet is meant, or none that could be run."""

from collections.abc import Mapping
from datetime import datetime
from math import isfinite
from typing import Any, Final

from otel_attrib.analytics.windows import parse_time
from otel_attrib.errors import UsageError

__all__ = ["BOUNDS", "check_record", "check_start", "shown"]

BOUNDS: Final[Mapping[str, Mapping[str, tuple[float, float]]]] = {
    "Fleet": {
        "nodes": (1, 4096),
        "gpus_per_node": (1, 64),
        "tp": (1, 64),
        "max_num_seqs": (1, 65_536),
        "token_budget": (64, 1_048_576),
        "kv_blocks": (0, 10**8),
        "block_size": (1, 4096),
        "hit_rate": (0, 1),
        "host_cache_share": (0, 1),
        "cores": (1, 4096),
        "compute_efficiency": (0, 1),
        "memory_efficiency": (0, 1),
    },
    "Workload": {
        "cv": (0, 20),
        "rate": (0, 10**6),
        "load": (0.001, 5),
        "prompt_mean": (1, 10**6),
        "prompt_most": (16, 10**6),
        "output_mean": (1, 32_768),
        "output_most": (2, 32_768),
        "reuse": (0, 100),
    },
    "Windows": {
        "warmup": (0, 86_400),
        "baseline": (1, 604_800),
        "current": (1, 604_800),
        "requests": (0, 20_000_000),
    },
    "Fault": {"severity": (1, 3), "start": (0, 1), "end": (0, 1)},
    "Shift": {"amount": (0, 20), "start": (0, 1), "end": (0, 1)},
    "Sensors": {"interval": (0.05, 3600), "noise": (0, 1), "skew": (-3600, 3600)},
}
"""By class and field, both ends allowed; 0 where it means a default."""

_TENANTS: Final = 1000
_LONGEST: Final = 40


def shown(value: object) -> str:
    """Write a value for a message: short, whatever it is."""
    if isinstance(value, int) and abs(value) >= 10**15:
        return "a number of more than 15 digits"
    if isinstance(value, list | dict):
        return f"a {'list' if isinstance(value, list) else 'table'} of {len(value)}"
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def check_record(kind: str, said: Mapping[str, Any], place: str) -> None:
    """Refuse what lies beyond the bounds of class `kind`; UsageError names `place` and the field."""
    for name, (low, high) in BOUNDS.get(kind, {}).items():
        if name in said and not low <= said[name] <= high:
            raise UsageError(f"{place}: {name} is {shown(said[name])}; it goes from {low:,} to {high:,}")
    start, end = said.get("start", 0), said.get("end", 0)
    if kind in ("Fault", "Shift") and (end or start == 1) and start >= (end or 1):
        raise UsageError(f"{place}: start = {start:g} is not before end = {end or 1:g}")
    if kind == "Windows" and "start" in said:
        check_start(said["start"], f"{place}: start")
    if "tenants" in said:
        _check_tenants(said["tenants"], place)
    if said.get("model") == []:
        raise UsageError(f"{place}: model = [] names no model")


def check_start(text: str, place: str) -> datetime:
    """Read when a baseline starts; UsageError names `place` when no store could keep it."""
    try:
        return parse_time(text)
    except UsageError as fault:
        raise UsageError(f"{place}: {fault}") from None


def _check_tenants(tenants: Mapping[str, float], place: str) -> None:
    if not 0 < len(tenants) <= _TENANTS:
        raise UsageError(f"{place}: tenants are {len(tenants):,}; there are 1 to {_TENANTS:,}")
    for name, share in tenants.items():
        if isinstance(share, bool) or not 0 <= share <= 10**9 or not isfinite(share):
            raise UsageError(f"{place}: tenants: {name[:_LONGEST]} = {shown(share)} is no share")
    if sum(tenants.values()) <= 0:
        raise UsageError(f"{place}: tenants: the shares add up to 0")
