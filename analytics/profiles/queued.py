"""How many launches waited for the device at each moment: a step function for each stream.

A launch joins the queue of its stream when its call begins and leaves it when the device begins. A
CUDA graph is one launch: its first activity takes it off.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics.profiles.pairs import Pairs
from otel_attrib.analytics.profiles.timeline import Ints

__all__ = ["QueueLength", "queue_lengths"]


@dataclass(frozen=True, slots=True)
class QueueLength:
    """The queue of one stream: from `time_ns[i]` on there are `length[i]`."""

    stream: int
    time_ns: Ints
    length: Ints

    @property
    def longest(self) -> int:
        """Return the greatest length."""
        return int(self.length.max())

    @property
    def mean(self) -> float:
        """Return the length averaged over time, from the first launch to the last start."""
        lasted = np.diff(self.time_ns)
        whole = int(lasted.sum())
        return float(self.length[:-1] @ lasted) / whole if whole else 0.0


def queue_lengths(paired: Pairs) -> Iterator[QueueLength]:
    """Yield the queue of each stream that launches were recorded for, by stream."""
    launched = paired.first
    streams = launched.activities.stream
    for stream in np.unique(streams):
        of_stream = streams == stream
        joined = launched.calls.start_ns[of_stream]
        left = launched.activities.start_ns[of_stream]
        times = np.concatenate((joined, left))
        step = np.repeat(np.array((1, -1)), joined.size)
        order = np.lexsort((-step, times))  # at one moment joining goes first
        yield QueueLength(int(stream), times[order], np.cumsum(step[order]))
