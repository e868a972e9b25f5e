"""What the agent reads, printed: the catalogue, and one look at this machine."""

import json
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from otel_attrib.commands.quantity import quantity

if TYPE_CHECKING:
    from otel_attrib.collector.agent.agent import Plan
    from otel_attrib.collector.agent.look import Look, Seen, Value

__all__ = ["engine_line", "look_lines", "place", "print_catalogue", "print_once", "rate", "took"]

# Attributes whose value alone would not say what it is, and those that a person does not need here.
_NAMED = {"process.pid": "pid ", "slatag.link": "link "}
_LEFT_OUT = ("slatag.engine.pid", "slatag.net.namespace", "slatag.gpu.uuid", "slatag.source")
_WIDTH = 80
_PLACE = 25
_NAME = 24


def print_catalogue(plan: "Plan", as_json: bool) -> int:
    """Every source with its rate and what it reads, from its module's first line."""
    from otel_attrib.collector.agent.catalogue import SOURCES, chosen

    rows = [_entry(name, plan) for name in (chosen(plan.sources) if plan.sources else SOURCES)]
    if as_json:
        body = [{"name": name, "every_s": every, "reads": reads} for name, every, reads in rows]
        print(json.dumps({"schema": "otel-attrib/agent-sources/1", "sources": body}, ensure_ascii=False))
        return 0
    print(f"{len(rows)} sources; those that this machine has: otel-attrib agent --once\n")
    widest = max((len(name) for name, _, _ in rows), default=0)
    for name, every, reads in rows:
        head = f"{name:<{widest}}  {rate(every):>7}  "
        first, *others = wrap(reads, _WIDTH - len(head)) or [""]
        print("\n".join([head + first, *(" " * len(head) + line for line in others)]))
    return 0


def print_once(plan: "Plan", as_json: bool) -> int:
    """One look; exit code 1 when no source answers at all."""
    from otel_attrib.collector.agent.agent import makers
    from otel_attrib.collector.agent.look import look

    if sys.stderr.isatty() and not as_json:
        print("reading twice, a second apart …", file=sys.stderr)
    found = look(makers(plan.sources))
    if as_json:
        print(json.dumps(_body(found), ensure_ascii=False))
    else:
        print("\n".join([*look_lines(found), "", *_engines()]))
    return 0 if found.seen else 1


def rate(every_s: float) -> str:
    """How often, in the unit that gives a whole number: 100 ms, 5 s."""
    return f"{every_s * 1000:g} ms" if every_s < 1 else f"{every_s:g} s"


def took(seconds: float) -> str:
    """How long a read took, in milliseconds of two digits: 0.14 ms, 2.3 ms, 230 ms."""
    milliseconds = float(f"{seconds * 1000:.2g}")
    return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:g} ms"


def engine_line(engines: Sequence[int], hidden: bool) -> str:
    """Which engines the sources of processes look at, or what makes them find one."""
    if engines:
        return f"engines: {', '.join(f'pid {pid}' for pid in engines)}"
    if hidden:
        return "no engine seen: /proc hides other users' processes (hidepid); run as root"
    return "no engine seen: those of processes read nothing; --pid N names one"


def look_lines(found: "Look") -> Iterator[str]:
    """The look as a table of at most 80 columns, then what is missing and why."""
    values = sum(len(seen.values) for seen in found.seen)
    total = len(found.seen) + len(found.missing)
    yield f"{len(found.seen)} of {total} sources answer, {values} values on {socket.gethostname()}"
    for seen in found.seen:
        yield ""
        yield f"{seen.name}: every {rate(seen.every_s)}, {took(seen.read_s)} a read"
        yield from _rows(seen)
        for series, value in seen.refused:
            yield f"  {series.counter.key}: {quantity(value, series.counter.unit)} is no measurement: refused"
    if found.missing:
        yield "\nnot here"
    for name, why in found.missing.items():
        yield from wrap(f"{name}: {why}", _WIDTH, initial_indent="  ", subsequent_indent="      ")


def place(value: "Value") -> str:
    """Where it was read, in 25 columns: the card or process, then what tells it from its like."""
    series = value.series
    words = [f"card {series.device}"] if series.device else []
    said = sorted(series.attributes, key=lambda pair: pair[0] not in _NAMED)
    words += [f"{_NAMED.get(key, '')}{text}" for key, text in said if key not in _LEFT_OUT]
    shown = " ".join(words)
    return shown if len(shown) <= _PLACE else shown[: _PLACE - 1] + "…"


def _engines() -> Iterator[str]:
    from otel_attrib.collector.agent.processes import shared_processes

    engines = dict.fromkeys(process.engine for process in shared_processes().current())
    hidden = not Path("/proc/1").exists()
    yield from wrap(engine_line(tuple(engines), hidden), _WIDTH, subsequent_indent="  ")


def _rows(seen: "Seen") -> Iterator[str]:
    if not seen.values:
        yield "  nothing to read now"
    for value in seen.values:
        counter = value.series.counter
        grows = "" if value.per_s is None else quantity(value.per_s, counter.unit, "/s")
        row = f"  {counter.key:<{_NAME}} {place(value):<{_PLACE}} {quantity(value.value, counter.unit):>12}"
        yield f"{row} {grows:>12}".rstrip()


def _entry(name: str, plan: "Plan") -> tuple[str, float, str]:
    from otel_attrib.collector.agent.catalogue import ON_REQUEST, source_class

    found = source_class(name)
    said = (sys.modules[found.__module__].__doc__ or "").strip().partition("\n\n")[0]
    asked = " (on request)" if name in ON_REQUEST else ""
    return name, plan.every.get(name, found.every_s), " ".join(said.split()) + asked


def _body(found: "Look") -> dict[str, Any]:
    return {
        "schema": "otel-attrib/agent/1",
        "node": socket.gethostname(),
        "time_unix_s": round(time.time(), 3),
        "sources": [
            {
                "name": seen.name,
                "every_s": seen.every_s,
                "read_s": round(seen.read_s, 6),
                "readings": [_reading(value) for value in seen.values],
                "refused": len(seen.refused),
            }
            for seen in found.seen
        ],
        "unavailable": [{"name": name, "why": why} for name, why in found.missing.items()],
    }


def _reading(value: "Value") -> dict[str, Any]:
    from otel_attrib.collector.agent.encode import attributes_of

    counter = value.series.counter
    grows: Sequence[tuple[str, Any]] = () if value.per_s is None else (("per_s", value.per_s),)
    return {
        "key": counter.key,
        "metric": counter.metric,
        "attributes": attributes_of(value.series),
        "value": value.value,
        "unit": counter.unit,
        "kind": counter.kind,
        **dict(grows),
    }
