"""Sets of time as disjoint spans: unions and intersections in whole nanoseconds, nothing counted twice.

A `Spans` is a set of half-open intervals [start, end), sorted, disjoint and not touching, so its
length is a plain sum, and `len(a | b) == len(a) + len(b) − len(a & b)` holds exactly. Cost:
O(n log n) in the number of intervals, in numpy.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from otel_attrib.analytics.profiles.timeline import Ints, Table

__all__ = ["Spans"]


@dataclass(frozen=True, slots=True)
class Spans:
    """Disjoint spans in ascending order; make them with `Spans.of` or `Spans.covered_by`."""

    start_ns: Ints
    end_ns: Ints

    @classmethod
    def of(cls, start_ns: Ints, end_ns: Ints) -> Self:
        """Return the union of any intervals, in any order; empty and reversed ones add nothing."""
        some = end_ns > start_ns
        start, end = start_ns[some], end_ns[some]
        if not start.size:
            return cls(start, end)
        order = np.argsort(start, kind="stable")
        start, end = start[order], np.maximum.accumulate(end[order])
        first = np.concatenate(([True], start[1:] > end[:-1]))
        last = np.concatenate((first[1:], [True]))
        return cls(start[first], end[last])

    @classmethod
    def covered_by(cls, table: Table) -> Self:
        """Return the time in which at least one row of the table ran."""
        return cls.of(table.start_ns, table.end_ns)

    @property
    def length_ns(self) -> int:
        """Return how long the spans are together."""
        return int((self.end_ns - self.start_ns).sum())

    def __or__(self, other: Self) -> Self:
        """Return the time in either set."""
        start = np.concatenate((self.start_ns, other.start_ns))
        return self.of(start, np.concatenate((self.end_ns, other.end_ns)))

    def __and__(self, other: Self) -> Self:
        """Return the time in both sets."""
        times = np.concatenate((self.start_ns, other.start_ns, self.end_ns, other.end_ns))
        begun = self.start_ns.size + other.start_ns.size
        step = np.ones(times.size, np.int64)
        step[begun:] = -1
        order = np.lexsort((step, times))  # at one moment what ends goes before what begins
        running = np.cumsum(step[order])
        both = np.flatnonzero(running == 2)
        return type(self)(times[order][both], times[order][both + 1])

    def gaps(self) -> Self:
        """Return the time between the spans, from the end of the first to the start of the last."""
        return type(self)(self.end_ns[:-1], self.start_ns[1:])
