"""Copies by direction: for how long the device copied, how much, and how fast at each moment."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.profiles.intervals import Spans
from otel_attrib.analytics.profiles.timeline import UNKNOWN, Activities, Direction, Ints, Kind

__all__ = ["Copies", "bandwidth", "copies_by_direction"]

MEMSET = "memset"


@dataclass(frozen=True, slots=True)
class Copies:
    """One direction's copies (or the memsets): `busy_ns` is a union, parallel copies are counted once."""

    direction: str
    count: int
    busy_ns: int
    bytes: int | None  # None when the file does not say the size of each

    @property
    def gb_per_s(self) -> float | None:
        """Return the bytes over the busy time, in 10⁹ bytes a second."""
        return self.bytes / self.busy_ns if self.bytes is not None and self.busy_ns else None


def copies_by_direction(activities: Activities) -> Iterator[Copies]:
    """Yield what one device copied, by direction, then its memsets; directions without copies are absent."""
    for direction in Direction:
        some = activities.take(activities.direction == direction)
        if direction is Direction.NONE:
            some = some.take(some.kind == Kind.MEMSET)
        if len(some):
            yield _copies(MEMSET if direction is Direction.NONE else direction.word, some)


def _copies(direction: str, some: Activities) -> Copies:
    known = bool((some.bytes != UNKNOWN).all())
    busy = Spans.covered_by(some).length_ns
    return Copies(direction, len(some), busy, sum(some.bytes.tolist()) if known else None)


def bandwidth(copies: Activities) -> tuple[Ints, NDArray[np.float64]]:
    """Return when the sum of the running copies' rates changes, and to what (10⁹ bytes a second).

    A copy's rate is its bytes over its own duration; copies without a size or a duration add nothing.
    """
    some = copies.take((copies.bytes > 0) & (copies.duration_ns > 0))
    rate = some.bytes / some.duration_ns
    times = np.concatenate((some.start_ns, some.end_ns))
    order = np.argsort(times, kind="stable")
    return times[order], np.cumsum(np.concatenate((rate, -rate))[order])
