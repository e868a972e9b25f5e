"""What the time of one device adds up to, in whole nanoseconds, nothing counted twice.

`span_ns` runs from the first start to the last end on the device. Each moment of it belongs to exactly
one part: idle, or one of the seven mixtures of computing, communicating (collectives) and moving memory
(copies and memsets). So the parts add up to the span exactly, and `compute_ns` and its like are sums of
parts. Kernels that are no collective compute. The definitions are those of HolisticTraceAnalysis.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics.profiles.copies import Copies, copies_by_direction
from otel_attrib.analytics.profiles.idle import Idle, idle_time
from otel_attrib.analytics.profiles.intervals import Spans
from otel_attrib.analytics.profiles.kernel_class import CLASSES, COLLECTIVE, classes_of
from otel_attrib.analytics.profiles.launching import Launching, launching
from otel_attrib.analytics.profiles.pairs import pairs
from otel_attrib.analytics.profiles.timeline import Activities, Ints, Kind, Profile

__all__ = ["Breakdown", "ClassTime", "StreamIdle", "breakdown", "breakdowns"]

COMPUTE, COMMUNICATION, MEMORY = "compute", "communication", "memory"


@dataclass(frozen=True, slots=True)
class ClassTime:
    """One class: `sum_ns` adds durations, `busy_ns` is the time in which any ran.

    `computing_ns` is the part of `busy_ns` that kernels make, not the driver's copies and memsets; 0 for
    collectives.
    """

    kind: str
    count: int
    sum_ns: int
    busy_ns: int
    computing_ns: int


@dataclass(frozen=True, slots=True)
class StreamIdle:
    """The gaps of one stream."""

    stream: int
    idle: Idle


@dataclass(frozen=True, slots=True)
class Breakdown:
    """One device of one profile."""

    path: str
    rank: int
    device: int
    name: str
    span_ns: int
    parts_ns: dict[str, int]  # "compute", "compute+communication", …: what ran, and for how long
    idle: Idle
    copies: tuple[Copies, ...]
    kernels: tuple[ClassTime, ...]  # the longest first
    streams: tuple[StreamIdle, ...]
    launching: Launching | None  # None when no call of the host was recorded
    cut: bool = False  # the profile's file ends early

    def during_ns(self, *what: str) -> int:
        """Return how long all of these ran at once, whatever else did."""
        return sum(ns for part, ns in self.parts_ns.items() if set(what) <= set(part.split("+")))

    @property
    def compute_ns(self) -> int:
        """Return the time in which any kernel but a collective ran."""
        return self.during_ns(COMPUTE)

    @property
    def communication_ns(self) -> int:
        """Return the time in which a collective ran."""
        return self.during_ns(COMMUNICATION)

    @property
    def memory_ns(self) -> int:
        """Return the time in which a copy or memset ran."""
        return self.during_ns(MEMORY)

    @property
    def overlap_ns(self) -> int:
        """Return the time in which a collective and another kernel ran."""
        return self.during_ns(COMPUTE, COMMUNICATION)

    @property
    def overlap_share(self) -> float | None:
        """Return how much of the communication computing hides; None without communication."""
        return self.overlap_ns / self.communication_ns if self.communication_ns else None


def breakdowns(profile: Profile) -> tuple[Breakdown, ...]:
    """Return the breakdown of each device on which anything ran."""
    return tuple(breakdown(profile, device) for device in profile.used_devices)


def breakdown(profile: Profile, device: int) -> Breakdown:
    """Return the breakdown of one device."""
    ran = profile.on(device)
    classes = classes_of(ran, profile.names)
    started = pairs(ran, profile.launches)
    return Breakdown(
        path=profile.path,
        rank=profile.rank,
        device=device,
        name=profile.device(device).name,
        span_ns=int(ran.end_ns.max() - ran.start_ns.min()) if len(ran) else 0,
        parts_ns=_parts(ran, classes),
        idle=idle_time(ran, profile.launches),
        copies=tuple(copies_by_direction(ran)),
        kernels=tuple(sorted(_classes(ran, classes), key=lambda one: (-one.sum_ns, one.kind))),
        streams=tuple(_streams(profile, ran)),
        launching=launching(started) if len(started.calls) else None,
        cut=profile.cut,
    )


def _parts(ran: Activities, classes: Ints) -> dict[str, int]:
    """Return how long each mixture ran, by inclusion and exclusion of the three unions."""
    collective = (classes == CLASSES.index(COLLECTIVE)) & (ran.kind == Kind.KERNEL)
    moving = (ran.kind == Kind.COPY) | (ran.kind == Kind.MEMSET)
    one, two, three = (
        Spans.covered_by(ran.take(rows)) for rows in (~collective & ~moving, collective, moving)
    )
    pair12, pair13, pair23 = one & two, one & three, two & three
    all_three = (pair12 & three).length_ns
    both12, both13, both23 = (pair.length_ns - all_three for pair in (pair12, pair13, pair23))
    parts = {
        COMPUTE: one.length_ns - both12 - both13 - all_three,
        COMMUNICATION: two.length_ns - both12 - both23 - all_three,
        MEMORY: three.length_ns - both13 - both23 - all_three,
        f"{COMPUTE}+{COMMUNICATION}": both12,
        f"{COMPUTE}+{MEMORY}": both13,
        f"{COMMUNICATION}+{MEMORY}": both23,
        f"{COMPUTE}+{COMMUNICATION}+{MEMORY}": all_three,
    }
    return {part: ns for part, ns in parts.items() if ns}


def _classes(ran: Activities, classes: Ints) -> Iterator[ClassTime]:
    for code in np.unique(classes):
        some = ran.take(classes == code)
        total = int(some.duration_ns.sum())
        moving = (some.kind == Kind.COPY) | (some.kind == Kind.MEMSET)
        computing = some.take(~moving & (code != CLASSES.index(COLLECTIVE)))
        yield ClassTime(
            kind=CLASSES[code],
            count=len(some),
            sum_ns=total,
            busy_ns=Spans.covered_by(some).length_ns,
            computing_ns=Spans.covered_by(computing).length_ns,
        )


def _streams(profile: Profile, ran: Activities) -> Iterator[StreamIdle]:
    for stream in np.unique(ran.stream):
        yield StreamIdle(int(stream), idle_time(ran.take(ran.stream == stream), profile.launches))
