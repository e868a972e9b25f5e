"""Stand-ins for tests of the agent: a source that says what it is told, a sink that keeps, a still clock.

None of them reads a machine; nothing of the product uses them.
"""

import time
from collections.abc import Callable, Iterable

from otel_attrib.collector.agent.clock import Clock
from otel_attrib.collector.agent.readings import Layouts, Readings
from otel_attrib.collector.agent.source import Reading

__all__ = ["FakeSource", "KeepingSink", "StillClock", "readings_of", "wait_until"]


class FakeSource:
    """Gives what `say` returns at each read; raises what it raises."""

    def __init__(
        self, say: Callable[[], Iterable[Reading]], name: str = "fake", every_s: float = 0.1
    ) -> None:
        """Count the reads, and note whether it was closed."""
        self.name = name
        self.every_s = every_s
        self.reads = 0
        self.closed = False
        self._say = say

    def read(self) -> Iterable[Reading]:
        """Say it."""
        self.reads += 1
        return self._say()

    def close(self) -> None:
        """Note it."""
        self.closed = True


class KeepingSink:
    """Keeps every batch that it takes."""

    def __init__(self) -> None:
        """Nothing was taken."""
        self.batches: list[tuple[int, Readings]] = []

    def take(self, ns: int, readings: Readings) -> None:
        """Keep one more."""
        self.batches.append((ns, readings))

    @property
    def readings(self) -> list[Reading]:
        """All readings in the order in which they came."""
        return [reading for _, batch in self.batches for reading in batch]


class StillClock:
    """Time passes only in `pass_s`; the CPU is used only in `burn_s`."""

    def __init__(self, ns: int = 1_760_000_000_000_000_000) -> None:
        """Begin at `ns`, steady time at nought."""
        self._began = ns
        self.steady = 0.0
        self.cpu = 0.0

    def pass_s(self, seconds: float) -> None:
        """Let time pass."""
        self.steady += seconds

    def burn_s(self, seconds: float) -> None:
        """Let time pass in which the CPU is used."""
        self.steady += seconds
        self.cpu += seconds

    @property
    def ns(self) -> int:
        """Wall time."""
        return self._began + round(self.steady * 1e9)

    @property
    def clock(self) -> Clock:
        """This as the agent's clock."""
        return Clock(lambda: self.ns, lambda: self.steady, lambda: self.cpu)


def readings_of(pairs: Iterable[Reading]) -> Readings:
    """Pairs as what a sink is given."""
    return Layouts().taken(pairs)[0]


def wait_until(holds: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether it holds before so many seconds have passed."""
    end = time.monotonic() + seconds
    while not (found := holds()) and time.monotonic() < end:
        time.sleep(0.005)
    return found
