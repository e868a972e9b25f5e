"""What a window's time went to, in shares that add up to 1, from the profiler's events.

The same definition as `otel-attrib import` applies to a file: each moment belongs to the first of compute
(products, attention, convolutions), memory (other kernels, fills), collective, copy (copy engines) that ran,
else it is idle. Where the host computes, its operators stand for kernels.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from otel_attrib.schema.kernel_class import ACTIVITIES, COLLECTIVE, MULTIPLY, kernel_class

__all__ = ["Event", "Shares", "device_shares", "events_of", "host_shares", "shares_between"]

_BUSY: Final = ACTIVITIES[:-1]
_ANNOTATIONS = frozenset(
    {"user_annotation", "gpu_user_annotation", "python_function", "cuda_runtime", "cuda_driver"}
)
_BACKEND = re.compile(r"^(gloo|mpi|nccl|ucc|xccl):")
"""A backend's annotation of its own work: on a host the only trace of the waiting in a collective."""
_HOST_COLLECTIVE = re.compile(
    r"c10d|gloo:|nccl:|mpi:|\bshm_|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast_$",
    re.IGNORECASE,
)
_HOST_PRODUCT = re.compile(
    r"::_?(add|b|bad|addb|scaled_)?mm|::_?(add|b)?mv|matmul|::linear|::dot|gemm|conv|attention|attn|moe|mlp|onednn"
    r"|mkldnn",
    re.IGNORECASE,
)


class Event(NamedTuple):
    """One thing that ran: `device` -1 is the host, times in ns of the profiler's clock."""

    activity: str
    device: int
    start: int
    end: int


class Shares(NamedTuple):
    """One device (-1 the host) in a window of `ns`: shares by activity, idle included."""

    device: int
    ns: int
    shares: dict[str, float]


def events_of(result: Any) -> list[Event]:
    """Read the profiler's own result; annotations and the runtime's calls are nothing that computes."""
    found = (_event(event) for event in result.events())
    return [event for event in found if event is not None]


def _event(event: Any) -> Event | None:
    kind = event.activity_type()
    host = event.device_type().name == "CPU"
    work = kind not in _ANNOTATIONS or (host and _BACKEND.search(event.name()))
    if not work or event.duration_ns() <= 0:
        return None
    activity = _of_operator(event.name()) if host else _of_device(kind, event.name())
    start = event.start_ns()
    return Event(activity, -1 if host else event.device_index(), start, start + event.duration_ns())


def _of_device(kind: str, name: str) -> str:
    if "memcpy" in kind:
        return "copy"
    if "memset" in kind:
        return "memory"
    found = kernel_class(name)
    return "compute" if found in MULTIPLY else "collective" if found == COLLECTIVE else "memory"


def _of_operator(name: str) -> str:
    if _HOST_COLLECTIVE.search(name):
        return "collective"
    return "compute" if _HOST_PRODUCT.search(name) else "memory"


def device_shares(events: Sequence[Event]) -> list[Shares]:
    """Return each device's shares from its first activity to its last."""
    devices = sorted({event.device for event in events if event.device >= 0})
    found = []
    for device in devices:
        own = [event for event in events if event.device == device]
        first, last = min(event.start for event in own), max(event.end for event in own)
        found.append(Shares(device, last - first, shares_between(own, first, last)))
    return found


def host_shares(events: Sequence[Event], start: int, end: int) -> list[Shares]:
    """Return the host's shares between two moments; an operator within another belongs to the first named."""
    own = [event for event in events if event.device < 0]
    return [Shares(-1, end - start, shares_between(own, start, end))] if end > start else []


def shares_between(events: Iterable[Event], start: int, end: int) -> dict[str, float]:
    """Return the share of [start, end) of each activity; nothing is counted twice and all add up to 1."""
    spans: dict[str, list[tuple[int, int]]] = {name: [] for name in _BUSY}
    for event in events:
        if event.end > start and event.start < end:
            spans[event.activity].append((max(event.start, start), min(event.end, end)))
    shares: dict[str, float] = {}
    taken: list[tuple[int, int]] = []
    before = 0
    for name in _BUSY:
        taken = _union(taken + spans[name])
        covered = sum(last - first for first, last in taken)
        shares[name] = (covered - before) / (end - start)
        before = covered
    return {**shares, "idle": 1 - before / (end - start)}


def _union(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the same moments as spans that neither overlap nor touch, in order."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if merged and first <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], last)
        else:
            merged.append((first, last))
    return merged
