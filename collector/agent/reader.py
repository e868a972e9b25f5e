"""One source with its book: when it is read, what that cost, how often it failed and what was refused.

Reading never raises: a fault of the source is counted, said once per kind, and makes the next reads rarer
until one succeeds.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from otel_attrib.collector.agent.clock import Clock
from otel_attrib.collector.agent.readings import Layouts, Readings
from otel_attrib.collector.agent.sink import Sink
from otel_attrib.collector.agent.source import Reading, Source
from otel_attrib.errors import OtelAttribError

__all__ = ["Book", "Reader"]

_log = logging.getLogger(__name__)

# A failing source is asked at least this often, and at most so many kinds of its faults are told.
_RAREST_S = 60.0
_MOST_DOUBLINGS = 16
_MOST_SAID = 16


@dataclass(slots=True)
class Book:
    """What became of one source's reads; counts and times only grow."""

    reads: int = 0
    failures: int = 0
    missed: int = 0
    """Reads left out because the one before was not over."""
    readings: int = 0
    refused: int = 0
    cpu_s: float = 0.0
    duration_s: float = 0.0
    """Of the last read, on the steady clock."""
    failing: int = 0
    """Reads that failed since the last one that did not."""


class Reader:
    """Reads one source into the sinks."""

    def __init__(
        self, source: Source, sinks: Sequence[Sink], every_s: float | None = None, clock: Clock | None = None
    ) -> None:
        """Read `source` every `every_s` seconds, or as often as it says itself."""
        self.source = source
        self.name = source.name
        self.every_s = every_s or source.every_s
        self.slowed = 1
        """The budget reads it this many times less often."""
        self.book = Book()
        self._sinks = sinks
        self._clock = clock or Clock()
        self._layouts = Layouts()
        self._said: set[str] = set()

    @property
    def interval_s(self) -> float:
        """Seconds between two reads as things are now."""
        interval = self.every_s * self.slowed
        if not self.book.failing:
            return interval
        longer = interval * 2.0 ** min(self.book.failing, _MOST_DOUBLINGS)
        return min(longer, max(interval, _RAREST_S))

    @property
    def cpu_s(self) -> float:
        """CPU time of all reads so far."""
        return self.book.cpu_s

    def read(self) -> None:
        """Read once, and give what can be believed to every sink."""
        cpu, began = self._clock.thread_s(), self._clock.steady_s()
        readings = self._read()
        book = self.book
        book.reads += 1
        book.duration_s = self._clock.steady_s() - began
        if readings is None:
            book.failures += 1
            book.failing += 1
        else:
            book.failing = 0
            book.readings += len(readings)
            if readings:
                self._give(self._clock.wall_ns() - int(book.duration_s * 5e8), readings)
        book.cpu_s += self._clock.thread_s() - cpu

    def close(self) -> None:
        """Close the source, whatever it says to that."""
        try:
            self.source.close()
        except Exception as fault:  # ending goes on
            self._say(f"closing: {_words(fault)}")

    def _read(self) -> Readings | None:
        try:
            readings, refused = self._layouts.taken(self.source.read())
        except Exception as fault:  # one source's fault, even a mistake in it, must not end the others
            self._say(f"{_words(fault)}; read again more and more rarely until it answers")
            return None
        self.book.refused += len(refused)
        for reading in refused:
            self._say_refused(reading)
        return readings

    def _give(self, ns: int, readings: Readings) -> None:
        for sink in self._sinks:
            try:
                sink.take(ns, readings)
            except Exception as fault:  # nor must one sink's
                self._say(f"{type(sink).__name__} does not take its readings: {_words(fault)}")

    def _say_refused(self, reading: Reading) -> None:
        (series, value), counter = reading, reading[0].counter
        if counter.key not in self._said:
            self._said.add(counter.key)
            place = f" of {series.device}" if series.device else ""
            text = "%s: %s%s said %g %s, which is no measurement: refused, as every such value"
            _log.warning(text, self.name, counter.metric, place, value, counter.unit)

    def _say(self, text: str) -> None:
        if text not in self._said and len(self._said) < _MOST_SAID:
            self._said.add(text)
            _log.warning("%s: %s", self.name, text)


def _words(fault: Exception) -> str:
    if isinstance(fault, OtelAttribError | OSError):
        return str(fault)
    return f"{type(fault).__name__}: {fault} (please report this)"
