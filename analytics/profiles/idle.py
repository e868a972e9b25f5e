"""Why a device or a stream did nothing: waiting for the host, between kernels, or neither is seen.

The definitions are those of HolisticTraceAnalysis. A gap ends with the activity that runs next. It is
host wait when the call that started this activity began after the gap did: the host came too late. Of
the rest it is kernel wait when shorter than `KERNEL_WAIT_NS`: back to back kernels cost that much.
What remains is other: the work was queued and still did not run (an event of another stream, a busy
copy engine). Kept apart from it, a gap is unknown when no call was recorded for what ends it; where no
call was recorded at all, every gap is, as nothing says that anything was queued.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.profiles.pairs import call_of_each
from otel_attrib.analytics.profiles.timeline import UNKNOWN, Activities, Launches

__all__ = ["KERNEL_WAIT_NS", "Idle", "came_late", "idle_time"]

KERNEL_WAIT_NS = 30_000


@dataclass(frozen=True, slots=True)
class Idle:
    """The gaps between activities, in ns: the four parts add up to `total_ns` exactly."""

    host_ns: int
    kernel_ns: int
    other_ns: int
    unknown_ns: int

    @property
    def total_ns(self) -> int:
        """Return all idle time between the first start and the last end."""
        return self.host_ns + self.kernel_ns + self.other_ns + self.unknown_ns


def idle_time(activities: Activities, launches: Launches) -> Idle:
    """Split the gaps of some activities (of one device, or of one stream), given in order of their starts."""
    if len(activities) < 2:
        return Idle(0, 0, 0, 0)
    ended = np.maximum.accumulate(activities.end_ns)[:-1]
    gap = np.maximum(0, activities.start_ns[1:] - ended)
    known = call_of_each(activities, launches)[1:] != UNKNOWN
    host = came_late(activities, launches)[1:]
    kernel = ~host & (gap < KERNEL_WAIT_NS) & known.any()
    rest = ~host & ~kernel
    parts = (host, kernel, rest & known, rest & ~known)
    return Idle(*(int(gap[part].sum()) for part in parts))


def came_late(activities: Activities, launches: Launches) -> NDArray[np.bool_]:
    """Return which activities were asked for only after all before them had ended (the first never is)."""
    late = np.zeros(len(activities), np.bool_)
    calls = call_of_each(activities, launches)[1:]
    if calls.size and len(launches):
        ended = np.maximum.accumulate(activities.end_ns)[:-1]
        late[1:] = (calls != UNKNOWN) & (launches.start_ns[calls] > ended)
    return late
