"""`import requests`: one table of requests into the store, and the account of it."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from otel_attrib.collector.imports import files
from otel_attrib.collector.imports.mapping import NAMES, STAMPS, Mapping, pairs, said_units, units
from otel_attrib.collector.imports.request import Request
from otel_attrib.collector.imports.requests_table import Tally, deliver, refuse_bad, rehearse
from otel_attrib.collector.imports.retention import expiry_note
from otel_attrib.collector.imports.survey import Options, Surveyed, survey
from otel_attrib.commands.progress import counted
from otel_attrib.commands.wrapping import counted_noun, listed, stamp, told
from otel_attrib.schema.attributes import STAGES

__all__ = ["Summary", "run"]

_SHOWN = 5
_QUANTITIES = ("ttft", "tpot", "e2e", *(stage for stage in STAGES if stage != "outside"))


@dataclass(frozen=True, slots=True)
class Summary:
    """What was read, how it was understood and what became of it."""

    file: str
    where: str
    dry_run: bool
    surveyed: Surveyed
    tally: Tally
    first: Sequence[Request] = ()

    def as_dict(self) -> dict[str, Any]:
        """The account for `--json`."""
        plan, tally = self.surveyed.plan, self.tally
        return {
            "file": self.file,
            "where": self.where,
            "dry_run": self.dry_run,
            "rows": self.surveyed.rows,
            "imported": tally.imported,
            "already": tally.already,
            "refused": tally.refused,
            "bad": tally.bad,
            "bad_rows": [asdict(row) for row in tally.named],
            "first": stamp(tally.first_ns),
            "last": stamp(tally.last_ns),
            "mapping": dict(plan.mapping.columns),
            "constants": dict(plan.mapping.constants),
            "units": {name: plan.mapping.units[name] for name in plan.mapping.timed},
            "unused_columns": list(self.surveyed.unused),
            "clocks": [asdict(clock) for clock in plan.clocks],
            "measured_from": plan.origin or None,
            "observed": {name: tally.observed[name] for name in (*_QUANTITIES, "outside")},
            "missing": dict(plan.missing),
            "statuses": dict(tally.statuses),
            "services": dict(tally.services),
            "notes": list(self.surveyed.notes),
            "first_rows": [asdict(request) for request in self.first],
        }

    def lines(self) -> list[str]:
        """The account as text, the answer first."""
        return [
            _answer(self),
            *self._understood(),
            *_clocks(self.surveyed),
            *self._measured(),
            *self._faults(),
        ]

    def _understood(self) -> Iterator[str]:
        plan, tally = self.surveyed.plan, self.tally
        if tally.first_ns is not None:
            yield f"  time      {stamp(tally.first_ns)} … {stamp(tally.last_ns)}"
        services = [f"{name} ({count:,})" for name, count in tally.services.most_common(5)]
        unnamed = [] if "service" in _named(plan.mapping) else ["no service column: --set service=NAME"]
        yield from listed("service", [*services, *unnamed])
        yield from listed("columns", (f"{name}={column}" for name, column in plan.mapping.columns.items()))
        yield from listed("set", (f"{name}={value}" for name, value in plan.mapping.constants.items()))
        yield from listed("unused", self.surveyed.unused)

    def _measured(self) -> Iterator[str]:
        plan, tally = self.surveyed.plan, self.tally
        seen = (f"{name} in {tally.observed[name]:,}" for name in _QUANTITIES if tally.observed[name])
        yield from listed("measured", seen)
        yield from listed("NULL", (name for name in _QUANTITIES if not tally.observed[name]))
        if plan.origin == "queued":
            yield from told("TTFT, E2E", "start at `queued`, not at the arrival: ingress is not in them")
        elif not plan.origin and "first_token" in plan.mapping.columns:
            yield from told("TTFT", "is NULL: no start of it is on the clock of first_token")
        if set(tally.statuses) - {"ok"}:
            yield from listed("status", (f"{name} {count:,}" for name, count in tally.statuses.items()))
        yield from listed("empty", (f"{name} in {count:,} rows" for name, count in plan.missing.items()))
        for note in self.surveyed.notes:
            yield from told("note", note)
        yield from _preview(self.first)

    def _faults(self) -> Iterator[str]:
        for row in self.tally.named:
            yield from told("bad", f"line {row.line}: {row.reason}")
        if self.tally.bad > len(self.tally.named):
            yield f"            and {self.tally.bad - len(self.tally.named):,} more"


def run(args: argparse.Namespace) -> Summary:
    """Read the table twice: once to understand it, once to send it."""
    constants = pairs("--set", args.set, _constants())
    mapping = Mapping(pairs("--map", args.map), units(args.unit), constants, said_units(args.unit))
    options = Options(args.clock, args.ttft_from, args.start)
    with files.opened(args.file) as stream:
        found = survey(stream, mapping, options, files.modified(args.file))
        if args.strict:
            refuse_bad(stream, found.plan)
        if args.dry_run:
            first, tally = rehearse(stream, found.plan, _SHOWN)
            return Summary(args.file, "nowhere (dry run)", True, found, tally, first)
        return _delivered(args, stream, found)


def _delivered(args: argparse.Namespace, stream: BinaryIO, found: Surveyed) -> Summary:
    from otel_attrib.collector.imports.connection import delivery

    with delivery(args.dsn, args.url) as to:
        with counted(f"importing {args.file}", found.rows) as advance:
            tally = deliver(stream, found.plan, to, advance)
        notes = [*found.notes, *filter(None, [expiry_note(to.store, tally.first_ns)])]
        return Summary(args.file, to.shown, False, replace(found, notes=notes), tally)


def _constants() -> list[str]:
    return [name for name in NAMES if name not in STAMPS]


def _named(mapping: Mapping) -> set[str]:
    return {*mapping.columns, *mapping.constants}


def _answer(summary: Summary) -> str:
    tally = summary.tally
    if summary.dry_run:
        rows = counted_noun(summary.surveyed.rows, "row")
        return f"{rows} in {Path(summary.file).name}; nothing written (dry run)"
    rest = {
        f"{tally.already:,} there already": tally.already,
        f"{tally.refused:,} refused by the receiver": tally.refused,
        f"{tally.bad:,} bad": tally.bad,
    }
    done = f"{counted_noun(tally.imported, 'request')} imported into {summary.where}"
    return "; ".join([done, *(text for text, count in rest.items() if count)])


def _clocks(found: Surveyed) -> Iterator[str]:
    for clock in found.plan.clocks:
        kind = " (Unix time)" if clock.wall else ""
        yield from told("clock", f"{clock.name}: {', '.join(clock.stamps)}{kind}")
        if clock.why:
            yield from told("", f"another clock, for {clock.why} (--clock declares it)")


def _preview(first: Sequence[Request]) -> Iterator[str]:
    for request in first:
        took = {"ttft": request.took.ttft_us, "tpot": request.took.tpot_us, **request.took.stages}
        times = [f"{name} {us / 1e3:,.3f} ms" for name, us in took.items() if us is not None]
        sizes = [f"{name} {value:,.0f}" for name, value in request.counts.items()]
        yield from listed(f"line {request.line}", [request.status, *sizes, *times])
