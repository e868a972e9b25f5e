"""Launch statistics of one device: how late the device begins what the host started, and how small it is.

The delay runs from the return of the call to the start on the device. An activity that is shorter than
its own call cannot keep the device busy however fast the host is: fuse it, or put it into a CUDA graph.
"""

from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics.profiles.pairs import Pairs
from otel_attrib.analytics.profiles.queued import queue_lengths

__all__ = ["Launching", "launching"]


@dataclass(frozen=True, slots=True)
class Launching:
    """What the calls that started something on the device came to."""

    calls: int  # a graph launch is one
    activities: int  # what they started
    short: int  # activities shorter than the call that started them and nothing else
    call_ns: int  # all time in these calls
    delay_p50_ns: float
    delay_p99_ns: float
    queue_mean: float  # launches waiting in the longest stream's queue, averaged over time
    queue_longest: int


def launching(paired: Pairs) -> Launching:
    """Sum up one device's pairs; there must be at least one."""
    first = paired.first
    p50, p99 = np.quantile(first.delay_ns, (0.5, 0.99), method="inverted_cdf")
    queues = list(queue_lengths(paired))
    return Launching(
        calls=len(first.calls),
        activities=len(paired.activities),
        short=int(paired.single.short.sum()),
        call_ns=int(first.calls.duration_ns.sum()),
        delay_p50_ns=float(p50),
        delay_p99_ns=float(p99),
        queue_mean=max(queue.mean for queue in queues),
        queue_longest=max(queue.longest for queue in queues),
    )
