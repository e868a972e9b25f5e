"""The agent's readings of itself: what each source costs, whether it answers, what was lost on the way."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache

from otel_attrib.collector.agent.reader import Reader
from otel_attrib.collector.agent.source import Reading, Series, series

__all__ = ["Own"]


class Own:
    """A source like the others, read every ten seconds."""

    name = "agent"
    every_s = 10.0

    def __init__(
        self,
        readers: Callable[[], Sequence[Reader]],
        cpu_s: Callable[[], float],
        lost: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        """Of these readers; `cpu_s` is what all of it took, `lost` the readings that were not sent."""
        self._readers = readers
        self._cpu_s = cpu_s
        self._lost = lost

    def read(self) -> Iterable[Reading]:
        """Look at every book."""
        yield _plain("agent_cpu"), self._cpu_s()
        for reason, count in self._lost().items():
            yield _lost(reason), float(count)
        for reader in self._readers():
            yield from zip(_of_source(reader.name), _figures(reader), strict=True)

    def close(self) -> None:
        """Nothing is open."""


# Of each source in the order of `_figures`.
_KEYS = ("duration", "success", "interval", "readings", "refused", "failures", "missed", "cpu")


def _figures(reader: Reader) -> Iterator[float]:
    book = reader.book
    yield book.duration_s
    yield float(not book.failing)
    yield reader.interval_s
    yield from map(float, (book.readings, book.refused, book.failures, book.missed))
    yield reader.cpu_s


@cache
def _plain(key: str) -> Series:
    return series(key)


@cache
def _lost(reason: str) -> Series:
    return series("agent_lost", error__type=reason)


@cache
def _of_source(name: str) -> Sequence[Series]:
    return tuple(series(f"agent_source_{key}", slatag__agent__source=name) for key in _KEYS)
