"""What `agent.py` reads: makers of sources by name, each a fake that says so."""

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Final

from otel_attrib.collector.agent.source import Reading, Series, Source, series
from otel_attrib.schema.context_counters import EVERY_COUNTER

__all__ = ["HZ", "SOURCES", "card_series"]

HZ: Final = 10


def card_series(cards: range, values: int) -> list[Series]:
    """`values` series of each card: every registered counter of a device, then the same of one link each."""
    counters = [counter.key for counter in EVERY_COUNTER if counter.per_device]
    return [
        series(
            counters[n % len(counters)], str(card), **({"slatag__link": str(n)} if n >= len(counters) else {})
        )
        for card in cards
        for n in range(values)
    ]


class Free:
    """A fake whose reading costs nothing: the same pairs each time."""

    every_s = 1 / HZ

    def __init__(self, name: str, cards: range, values: int) -> None:
        """Make the series once."""
        self.name = name
        self._pairs: list[Reading] = [(one, 0.5) for one in card_series(cards, values)]

    def read(self) -> list[Reading]:
        """Give them all."""
        return self._pairs

    def close(self) -> None:
        """Nothing is open."""


class Changing(Free):
    """The same, and every second a process comes and another goes."""

    def __init__(self, name: str, cards: range, values: int) -> None:
        """Begin with no process."""
        super().__init__(name, cards, values)
        self._reads = count()
        self._processes: list[Reading] = []

    def read(self) -> list[Reading]:
        """Give the cards and the last ten processes."""
        if (number := next(self._reads)) % HZ == 0:
            made = series("run_queue_wait", process__pid=str(number), slatag__process__role="worker")
            self._processes = [*self._processes[-9:], (made, 1.0)]
        return self._pairs + self._processes


def _shared(kind: type[Free]) -> Callable[[int, int, int], dict[str, Callable[[], Source]]]:
    def makers(cards: int, values: int, sources: int) -> dict[str, Callable[[], Source]]:
        each = cards // sources
        parts = [range(n * each, (n + 1) * each) for n in range(sources)]
        return {f"free{n}": partial(kind, f"free{n}", part, values) for n, part in enumerate(parts)}

    return makers


SOURCES: Final[dict[str, Callable[[int, int, int], dict[str, Callable[[], Source]]]]] = {
    "free": _shared(Free),
    "changing": _shared(Changing),
}
"""Name → makers for so many cards, values of each, and sources that share the cards."""
