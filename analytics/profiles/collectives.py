"""The collectives of one device: bytes, bandwidth, and how they compare with the same message measured alone.

A rank that arrives early waits inside its kernel for the last one, so the fastest run of a message speaks
for the link and the others for waiting. Bytes count as nccl-tests count them; `bus` bandwidth is what each
link saw: times 2(n−1)/n for an all-reduce, (n−1)/n for all-gather, reduce-scatter and all-to-all.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from otel_attrib.analytics.profiles.cards import Card
from otel_attrib.analytics.profiles.collective_tables import Measured, measured
from otel_attrib.analytics.profiles.kernel_class import CLASSES, COLLECTIVE, classes_of
from otel_attrib.analytics.profiles.number_formats import bytes_of_dtype
from otel_attrib.analytics.profiles.timeline import UNKNOWN, Activities, Collective, Profile

__all__ = ["NEAR", "CollectiveUse", "collectives_of"]

NEAR: Final = 1.5
"""Up to this many times the measured time counts as measured: tables of one machine for another one."""

_KINDS: Final = (
    ("all_reduce", re.compile(r"all_?reduce|cross_device_reduce|one_shot|two_shot|quickreduce", re.I)),
    ("all_gather", re.compile(r"all_?gather", re.I)),
    ("reduce_scatter", re.compile(r"reduce_?scatter", re.I)),
    ("alltoall", re.compile(r"all_?to_?all", re.I)),
    ("broadcast", re.compile(r"broadcast", re.I)),
    ("send_recv", re.compile(r"send|recv", re.I)),
)


@dataclass(frozen=True, slots=True)
class CollectiveUse:
    """All kernels of one operation, message and group: times in nanoseconds, `bytes` of one message."""

    operation: str
    library: str
    ranks: int
    bytes: int
    dtype: str
    count: int
    total_ns: int
    fastest_ns: int
    median_ns: int
    above_ns: int | None
    measured: Measured

    @property
    def bus_bytes_per_second(self) -> float | None:
        """Return the bus bandwidth of the fastest run; None where bytes or ranks are not told."""
        if self.bytes <= 0 or self.ranks <= 0 or self.fastest_ns <= 0:
            return None
        return self.bytes / self.fastest_ns * 1e9 * _bus_factor(self.operation, self.ranks)

    @property
    def times_measured(self) -> float | None:
        """Return the fastest run's time over the measured one; None where nothing was measured."""
        return self.fastest_ns / 1000 / self.measured.us if self.measured.us else None

    @property
    def verdict(self) -> str:
        """Return what the comparison says, in a few words."""
        if self.measured.us is None:
            return self.measured.source
        if self.fastest_ns / 1000 > NEAR * self.measured.us:
            return "slower than measured alone, even the fastest"
        if self.median_ns / 1000 > NEAR * self.measured.us:
            return "fastest as measured alone, most slower: they wait for other ranks or share the link"
        return "as measured alone"


def collectives_of(profile: Profile, device: int, card: Card | None = None) -> list[CollectiveUse]:
    """Return the device's collectives by operation, message and group, the longest first."""
    rows = profile.on(device)
    rows = rows.take(classes_of(rows, profile.names) == CLASSES.index(COLLECTIVE))
    return sorted(_uses(profile, rows, card), key=lambda use: (-use.total_ns, use.operation, use.bytes))


def _uses(profile: Profile, rows: Activities, card: Card | None) -> Iterator[CollectiveUse]:
    keys = np.stack((rows.collective, rows.name), axis=1)
    for code, name in np.unique(keys, axis=0):
        chosen = rows.take((rows.collective == code) & (rows.name == name))
        told = profile.collectives[code] if code != UNKNOWN else None
        yield _use(profile.names[name], told, np.sort(chosen.duration_ns), card)


def _use(kernel: str, told: Collective | None, durations: np.ndarray, card: Card | None) -> CollectiveUse:
    operation = _operation(told.operation if told else kernel)
    library = "vLLM" if "cross_device_reduce" in kernel else "NCCL"
    size = bytes_of_dtype(told.dtype) if told else None
    elements = max(told.in_elements, told.out_elements) if told else UNKNOWN
    message = elements * size if size and elements > 0 else UNKNOWN
    ranks = told.group_size if told else UNKNOWN
    found = _found(card, library, operation, size, ranks, message)
    return CollectiveUse(
        operation=operation,
        library=library,
        ranks=ranks,
        bytes=message,
        dtype=told.dtype if told else "",
        count=int(durations.size),
        total_ns=int(durations.sum()),
        fastest_ns=int(durations[0]),
        median_ns=int(np.median(durations)),
        above_ns=None if found.us is None else int(np.maximum(durations - found.us * 1000, 0).sum()),
        measured=found,
    )


def _found(
    card: Card | None, library: str, operation: str, size: int | None, ranks: int, message: int
) -> Measured:
    if message == UNKNOWN or size is None:
        return Measured(None, "the file does not say how large the message was")
    if card is None:
        return Measured(None, "no table for this card")
    if ranks < 2:
        return Measured(None, "a group of one moves nothing")
    return measured(card.collectives, library, operation, size, ranks, message)


def _operation(word: str) -> str:
    return next((name for name, pattern in _KINDS if pattern.search(word)), word)


def _bus_factor(operation: str, ranks: int) -> float:
    if operation == "all_reduce":
        return 2 * (ranks - 1) / ranks
    return (ranks - 1) / ranks if operation in ("all_gather", "reduce_scatter", "alltoall") else 1.0
