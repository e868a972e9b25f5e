"""What the agent asks of a source: a name, how often, and one `read()`.

A source makes its `Series` once and gives the same objects at every read; a series is known by its identity,
so that thousands of values a second cost neither a hash of their names nor an encoding of their attributes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from otel_attrib.errors import OtelAttribError
from otel_attrib.schema.context_counters import registered
from otel_attrib.schema.counters import Counter

__all__ = ["Reading", "Series", "Source", "Unavailable", "series"]


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One counter of one place: `attributes` stand beside the counter's own and `hw.id`."""

    counter: Counter
    device: str = ""
    attributes: tuple[tuple[str, str], ...] = ()


def series(key: str, device: str = "", **attributes: str) -> Series:
    """Make a series of the counter with this key; `process__pid="7"` is the attribute `process.pid`."""
    named = ((name.replace("__", "."), value) for name, value in attributes.items())
    return Series(registered(key), device, tuple(sorted(named)))


Reading = tuple[Series, float]
"""A series and its value, in the counter's own unit."""


class Unavailable(OtelAttribError):
    """A source has nothing to read on this machine: the message says why and what would change it."""


class Source(Protocol):
    """Something that can be read again and again; its constructor raises `Unavailable` where it cannot be."""

    name: str
    every_s: float
    """How often it is read by default, in seconds."""

    def read(self) -> Iterable[Reading]:
        """Read once: what is there now. What this machine lacks is left out, never zero.

        An OSError or `OtelAttribError` fails this one read; the agent counts it and says it once.
        """
        ...

    def close(self) -> None:
        """Let go of what was opened."""
        ...
