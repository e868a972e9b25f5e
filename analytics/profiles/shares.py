"""What each step's time on a device went to, in shares that add up to 1: the samples of a profile.

Each moment of a step belongs to the first of these that ran: `compute` (kernels that multiply: products,
attention, convolutions, experts), `memory` (kernels that mostly move memory, and memsets), `collective`,
`copy` (copy engines), else `idle`. What hides behind computing is not counted, and idle is what nothing hid.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics.profiles.intervals import Spans
from otel_attrib.analytics.profiles.kernel_class import CLASSES, COLLECTIVE, classes_of
from otel_attrib.analytics.profiles.steps import Steps, steps_of
from otel_attrib.analytics.profiles.timeline import Activities, Ints, Kind, Profile
from otel_attrib.schema.kernel_class import ACTIVITIES, MULTIPLY

__all__ = ["ACTIVITIES", "StepShares", "step_shares"]


@dataclass(frozen=True, slots=True)
class StepShares:
    """One step on one device: `shares` by activity; a graph recorded as one piece counts as compute."""

    name: str
    start_ns: int
    end_ns: int
    shares: dict[str, float]


def step_shares(profile: Profile, device: int) -> list[StepShares]:
    """Return the shares of each step of a device, in order; steps of no length are left out."""
    rows = profile.on(device)
    parts = _parts(rows, classes_of(rows, profile.names))
    return list(_steps(steps_of(profile, device), parts))


def _parts(rows: Activities, kinds: Ints) -> dict[str, Spans]:
    """The time of each activity, its claim on moments that another has too not yet settled."""
    multiply = np.isin(kinds, [CLASSES.index(kind) for kind in MULTIPLY])
    collective = (kinds == CLASSES.index(COLLECTIVE)) & (rows.kind == Kind.KERNEL)
    copy = rows.kind == Kind.COPY
    chosen = {
        "compute": multiply & ~copy,
        "memory": ~multiply & ~collective & ~copy,
        "collective": collective,
        "copy": copy,
    }
    return {name: Spans.covered_by(rows.take(mask)) for name, mask in chosen.items()}


def _steps(steps: Steps, parts: dict[str, Spans]) -> Iterator[StepShares]:
    for name, start, end in zip(steps.names, steps.start_ns, steps.end_ns, strict=True):
        if end > start:
            yield StepShares(name, int(start), int(end), _shares(int(start), int(end), parts))


def _shares(start: int, end: int, parts: dict[str, Spans]) -> dict[str, float]:
    step = Spans.of(np.array([start], np.int64), np.array([end], np.int64))
    taken = Spans.of(np.empty(0, np.int64), np.empty(0, np.int64))
    shares, before = {}, 0
    for name, spans in parts.items():
        taken = taken | (spans & step)
        shares[name] = (taken.length_ns - before) / (end - start)
        before = taken.length_ns
    return {**shares, "idle": 1 - before / (end - start)}
