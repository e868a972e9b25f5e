"""Which call of the host started which activity of a device, and how long that took.

A call and what it started carry one correlation id within one process. A call that launches a CUDA
graph starts many activities; calls that start nothing (synchronisations, queries) have none.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.profiles.timeline import UNKNOWN, Activities, Ints, Launches

__all__ = ["Pairs", "call_of_each", "pairs"]


@dataclass(frozen=True)
class Pairs:
    """Activities of one device whose calls were recorded, in the order of the activities' starts."""

    activities: Activities
    calls: Launches  # row i is the call that started activity i

    @cached_property
    def delay_ns(self) -> Ints:
        """Return the time from the return of the call to the start on the device, 0 if it began before."""
        delay: Ints = np.maximum(0, self.activities.start_ns - self.calls.end_ns)
        return delay

    @cached_property
    def short(self) -> NDArray[np.bool_]:
        """Return which activities were shorter than the call that started them."""
        return self.activities.duration_ns < self.calls.duration_ns

    @cached_property
    def first(self) -> "Pairs":
        """Return one pair for each call: a graph's first activity stands for the graph."""
        rows = np.sort(np.unique(self._keys, return_index=True)[1])
        return Pairs(self.activities.take(rows), self.calls.take(rows))

    @cached_property
    def single(self) -> "Pairs":
        """Return the pairs whose call started nothing else: no part of a graph."""
        _, group, count = np.unique(self._keys, return_inverse=True, return_counts=True)
        alone = count[group] == 1
        return Pairs(self.activities.take(alone), self.calls.take(alone))

    @property
    def _keys(self) -> Ints:
        return _keys(self.calls.process, self.calls.correlation, np.unique(self.calls.process))


def call_of_each(activities: Activities, launches: Launches) -> Ints:
    """Return for each activity the row of its call in `launches`, UNKNOWN where none was recorded."""
    if not len(launches) or not len(activities):
        return np.full(len(activities), UNKNOWN, np.int64)
    owners = np.unique(launches.process)
    keys = _keys(launches.process, launches.correlation, owners)
    order = np.argsort(keys, kind="stable")  # of several calls with one id the earliest
    wanted = _keys(activities.process, activities.correlation, owners)
    at = np.minimum(np.searchsorted(keys[order], wanted), keys.size - 1)
    found = order[at]
    known = (keys[found] == wanted) & (launches.process[found] == activities.process)
    known &= activities.correlation > 0
    return np.where(known, found, UNKNOWN)


def pairs(activities: Activities, launches: Launches) -> Pairs:
    """Join one device's activities with the calls that started them."""
    calls = call_of_each(activities, launches)
    known = calls != UNKNOWN
    return Pairs(activities.take(known), launches.take(calls[known]))


def _keys(process: Ints, correlation: Ints, owners: Ints) -> Ints:
    """Return one number for (process, correlation); correlation ids have 32 bits."""
    at = np.searchsorted(owners, process)
    return (at << 33) + correlation
