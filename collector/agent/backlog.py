"""Requests that wait for the collector: bounded, the oldest dropped first, every point counted.

A request that is sent at once is never compressed here; those that have to wait are.
"""

import zlib
from collections import deque
from dataclasses import dataclass

__all__ = ["Backlog", "Waiting"]

# Points repeat their attributes, so the fastest level already leaves little.
_LEVEL = 1


@dataclass(slots=True)
class Waiting:
    """One request that waits."""

    data: bytes
    points: int
    packed: bool = False

    def body(self) -> bytes:
        """The request as it was."""
        return zlib.decompress(self.data) if self.packed else self.data

    def pack(self) -> None:
        """Compress it, once."""
        if not self.packed:
            self.data, self.packed = zlib.compress(self.data, _LEVEL), True


class Backlog:
    """First in, first out; holds `limit` compressed bytes after each `pack`."""

    def __init__(self, limit: int) -> None:
        """Nothing waits."""
        self._limit = limit
        self._waiting: deque[Waiting] = deque()

    def __len__(self) -> int:
        """How many requests wait."""
        return len(self._waiting)

    @property
    def points(self) -> int:
        """How many points wait."""
        return sum(each.points for each in tuple(self._waiting))

    def add(self, body: bytes, points: int) -> None:
        """Keep one more request."""
        self._waiting.append(Waiting(body, points))

    def first(self) -> Waiting:
        """The oldest; IndexError when nothing waits."""
        return self._waiting[0]

    def pop(self) -> Waiting:
        """Let go of the oldest."""
        return self._waiting.popleft()

    def pack(self) -> int:
        """Compress what waits and drop the oldest beyond the limit; how many points these had."""
        for each in self._waiting:
            each.pack()
        size, dropped = sum(len(each.data) for each in self._waiting), 0
        while size > self._limit:
            oldest = self.pop()
            size -= len(oldest.data)
            dropped += oldest.points
        return dropped
