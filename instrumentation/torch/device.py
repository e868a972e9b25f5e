"""The clock of a step's parts: the host's where the host computes, else pairs of CUDA events.

Events are recorded on the current stream and read later, on another thread, when the device is past
them; nothing here ever waits for the device. While a CUDA graph is captured nothing is recorded:
an event in a graph has no time.
"""

from collections import deque
from importlib import import_module
from typing import Any, NamedTuple

__all__ = ["CudaEvents", "Pair"]

MOST_POOLED = 4096


class Pair(NamedTuple):
    """Two events around a part, on the stream that was current there."""

    begin: Any
    end: Any


class CudaEvents:
    """Makes, reuses and reads pairs of events; ROCm's are called so as well."""

    def __init__(self, cuda: Any = None) -> None:
        """Use `torch.cuda`, or `cuda` which looks like it."""
        self.cuda = cuda if cuda is not None else import_module("torch").cuda
        self._pool: deque[Any] = deque(maxlen=MOST_POOLED)

    def capturing(self) -> bool:
        """Whether the current stream is being captured into a graph."""
        return bool(self.cuda.is_current_stream_capturing())

    def mark(self) -> Any:
        """Record one event on the current stream."""
        try:
            event = self._pool.popleft()
        except IndexError:
            event = self.cuda.Event(enable_timing=True)
        event.record()
        return event

    def past(self, pair: Pair) -> bool:
        """Whether the device is past both; asks, does not wait."""
        return bool(pair.end.query()) and bool(pair.begin.query())

    def between(self, pair: Pair) -> int:
        """Nanoseconds on the device between the two (its resolution is about half a microsecond)."""
        return int(pair.begin.elapsed_time(pair.end) * 1e6 + 0.5)

    def give_back(self, pair: Pair) -> None:
        """Both may be recorded again."""
        self._pool.append(pair.begin)
        self._pool.append(pair.end)
