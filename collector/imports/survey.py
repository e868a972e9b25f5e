"""The first pass over a table: what it holds, which clocks its stamps were read from, where time starts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO

from otel_attrib.collector.imports.bare import Bare
from otel_attrib.collector.imports.clocks import Clock, Survey, declared, detected
from otel_attrib.collector.imports.durations import origin_of
from otel_attrib.collector.imports.mapping import Mapping
from otel_attrib.collector.imports.request import Plan, stamps_of
from otel_attrib.collector.imports.stamps import wall_nanoseconds
from otel_attrib.collector.imports.table import Bad, header, rows
from otel_attrib.errors import DataError, UsageError

__all__ = ["Options", "Surveyed", "survey"]


@dataclass(frozen=True, slots=True)
class Options:
    """What the user said of the table's clocks."""

    clocks: Sequence[str] = ()
    ttft_from: str = "auto"
    start: str | None = None


@dataclass(frozen=True, slots=True)
class Surveyed:
    """The plan, and what is worth saying of how it came about."""

    plan: Plan
    rows: int
    unused: Sequence[str]
    notes: Sequence[str]


def survey(stream: BinaryIO, mapping: Mapping, options: Options, written: datetime | None) -> Surveyed:
    """Read the whole table once; `written` (the file's time) places a table that has no wall clock."""
    names = header(stream, mapping.columns.values())
    mapping = mapping.completed(names)
    bare = Bare(mapping.bare(names))
    seen, count = _seen(stream, mapping, bare)
    mapping = mapping.also(bare.durations)
    stamps = [name for name in mapping.stamps if name in seen.columns]
    if not stamps:
        raise DataError(
            f"no row has a moment in {', '.join(mapping.columns[name] for name in mapping.stamps)}"
        )
    seen.check_units(mapping.units)
    clocks = declared(options.clocks, stamps, seen) if options.clocks else detected(stamps, seen)
    shift, placed = _placement(clocks, seen, options.start, written)
    plan = Plan(
        mapping=mapping,
        clocks=clocks,
        origin=origin_of(stamps, clocks, options.ttft_from),
        unset={name: column.zero_is_absent for name, column in seen.columns.items()},
        shift_ns=shift,
    )
    doubts = seen.doubtful_units(mapping.units) if placed and not options.start else []
    notes = [*placed, *doubts, *_remarks(seen), *bare.remarks(mapping)]
    return Surveyed(plan, count, mapping.unused(names), notes)


def _seen(stream: BinaryIO, mapping: Mapping, bare: Bare) -> tuple[Survey, int]:
    seen, count = Survey(), 0
    for row in rows(stream):
        count += 1
        if isinstance(row, Bad):
            continue
        bare.add(row)
        try:
            seen.add(stamps_of(row, mapping))
        except ValueError:
            continue  # named, with its line, when the row is read for good
    return seen, count


def _placement(
    clocks: Sequence[Clock], seen: Survey, start: str | None, written: datetime | None
) -> tuple[int, list[str]]:
    """How far the first clock must be moved to stand on the wall, and what to say about it."""
    if any(clock.wall for clock in clocks):
        if start:
            raise UsageError("--start: the table has a wall clock already; leave --start out")
        return 0, []
    edges = [seen.columns[name] for name in clocks[0].stamps]
    low, high = min(edge.first for edge in edges), max(edge.high for edge in edges)
    if start:
        try:
            return wall_nanoseconds(start) - low, [
                f"no wall clock in the table: its first stamp is placed at {start}"
            ]
        except ValueError as fault:
            raise UsageError(f"--start: {fault}") from None
    if written is None:
        raise UsageError("no stamp is a Unix time: give --start, the moment of the first stamp in RFC 3339")
    moment = f"{written:%Y-%m-%dT%H:%M:%SZ}"
    said = f"no wall clock in the table: its last stamp is placed at the file's time, {moment}; see --start"
    return wall_nanoseconds(moment) - high, [said]


def _remarks(seen: Survey) -> list[str]:
    columns = seen.columns.items()
    naive = [name for name, column in columns if column.dated and not column.zoned]
    zeros = [(name, column.zeros) for name, column in columns if column.zeros and column.zero_is_absent]
    said = [f"{name} is 0 in {count:,} rows: read as not reached" for name, count in zeros]
    return [*said, *([f"dates without a zone are read as UTC: {', '.join(naive)}"] if naive else [])]
