"""What a machine says now: every source opened, read twice a moment apart, and closed."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from otel_attrib.collector.agent.opening import Makers, opened
from otel_attrib.collector.agent.readings import Layouts
from otel_attrib.collector.agent.source import Reading, Series, Source
from otel_attrib.errors import OtelAttribError

__all__ = ["Look", "Seen", "Value", "look"]


@dataclass(frozen=True, slots=True)
class Value:
    """One series now; `per_s` is how fast a total grew between the two reads, None for a gauge."""

    series: Series
    value: float
    per_s: float | None


@dataclass(frozen=True, slots=True)
class Seen:
    """What one source said; `refused` is what it said that is no measurement."""

    name: str
    every_s: float
    read_s: float
    values: Sequence[Value]
    refused: Sequence[Reading]


@dataclass(frozen=True, slots=True)
class Look:
    """The sources that answered, and the others with the reason and what would change it."""

    seen: Sequence[Seen]
    missing: dict[str, str]


def look(makers: Makers, apart_s: float = 1.0, sleep: Callable[[float], None] = time.sleep) -> Look:
    """Read all of them; totals need two reads, and so do many sources that watch a difference."""
    found = {name: opened(make) for name, make in makers.items()}
    missing = {name: source for name, source in found.items() if isinstance(source, str)}
    sources = {name: source for name, source in found.items() if not isinstance(source, str)}
    try:
        return _twice(sources, missing, apart_s, sleep)
    finally:
        for source in sources.values():
            source.close()


def _twice(
    sources: dict[str, Source], missing: dict[str, str], apart_s: float, sleep: Callable[[float], None]
) -> Look:
    first = {name: _read(source) for name, source in sources.items()}
    sleep(apart_s)
    seen = []
    for name, source in sources.items():
        before, now = first[name], _read(source)
        if isinstance(before, str) or isinstance(now, str):
            missing[name] = now if isinstance(now, str) else str(before)
        else:
            seen.append(_seen(source, before, now))
    return Look(seen, missing)


@dataclass(frozen=True, slots=True)
class _Once:
    at: float
    took_s: float
    readings: Sequence[Reading]
    refused: Sequence[Reading]


def _read(source: Source) -> _Once | str:
    began = time.monotonic()
    try:
        readings, refused = Layouts().taken(source.read())
    except (OtelAttribError, OSError) as fault:
        return f"cannot be read: {fault}"
    return _Once(began, time.monotonic() - began, list(readings), refused)


def _seen(source: Source, before: _Once, now: _Once) -> Seen:
    earlier, seconds = dict(before.readings), now.at - before.at
    values = []
    for series, value in now.readings:
        total = series.counter.kind == "total" and series in earlier
        values.append(Value(series, value, (value - earlier[series]) / seconds if total else None))
    return Seen(source.name, source.every_s, now.took_s, values, now.refused)
