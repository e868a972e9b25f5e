"""`import samples`: one table of counters into the store, and the account of it."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from otel_attrib.collector.imports import files
from otel_attrib.collector.imports.retention import expiry_note
from otel_attrib.collector.imports.samples_mapping import SampleMapping, sample_mapping
from otel_attrib.collector.imports.samples_table import SampleTally, deliver_samples, rehearse_samples
from otel_attrib.collector.imports.table import header
from otel_attrib.commands.progress import counted
from otel_attrib.commands.wrapping import counted_noun, listed, stamp, told

__all__ = ["Summary", "run"]


@dataclass(frozen=True, slots=True)
class Summary:
    """What was read, how it was understood and what became of it."""

    file: str
    where: str
    dry_run: bool
    mapping: SampleMapping
    unused: Sequence[str]
    tally: SampleTally
    notes: Sequence[str] = ()

    def as_dict(self) -> dict[str, Any]:
        """The account for `--json`."""
        tally = self.tally
        return {
            "file": self.file,
            "where": self.where,
            "dry_run": self.dry_run,
            "rows": tally.rows,
            "imported": tally.imported,
            "refused": tally.refused,
            "bad": tally.bad,
            "bad_rows": [asdict(row) for row in tally.named],
            "first": stamp(tally.first_ns),
            "last": stamp(tally.last_ns),
            "form": "long" if self.mapping.long else "wide",
            "columns": dict(self.mapping.places),
            "counters": {counter.key: word for word, counter in self.mapping.counters.items()},
            "unused_columns": list(self.unused),
            "metrics": dict(sorted(tally.metrics.items())),
            "without_a_rule": dict(sorted(tally.unknown.items())),
            "nodes": sorted(tally.nodes),
            "devices": len(tally.devices),
            "notes": list(self.notes),
        }

    def lines(self) -> list[str]:
        """The account as text, the answer first."""
        return [self._answer(), *self._understood(), *self._faults()]

    def _answer(self) -> str:
        tally = self.tally
        if self.dry_run:
            values = counted_noun(sum(tally.metrics.values()) + sum(tally.unknown.values()), "value")
            return f"{values} in {Path(self.file).name}; nothing written (dry run)"
        done = f"{counted_noun(tally.imported, 'value')} imported into {self.where}"
        rest = {f"{tally.refused:,} refused by the receiver": tally.refused, f"{tally.bad:,} bad": tally.bad}
        return "; ".join([done, *(text for text, count in rest.items() if count)])

    def _understood(self) -> Iterator[str]:
        tally = self.tally
        if tally.first_ns is not None:
            yield f"  time      {stamp(tally.first_ns)} … {stamp(tally.last_ns)}"
        nodes = sorted(tally.nodes)
        yield from listed("node", [node or "(none: --set node=NAME)" for node in nodes[:8]])
        yield from listed("device", [counted_noun(len(tally.devices), "device")])
        yield from listed("columns", (f"{name}={column}" for name, column in self.mapping.places.items()))
        said = (f"{counter.key}={word}" for word, counter in self.mapping.counters.items())
        yield from listed("counters", said)
        yield from listed("values", (f"{name} {count:,}" for name, count in sorted(tally.metrics.items())))
        yield from listed("no rule", (f"{name} {count:,}" for name, count in sorted(tally.unknown.items())))
        yield from listed("unused", self.unused)
        for note in self.notes:
            yield from told("note", note)

    def _faults(self) -> Iterator[str]:
        for row in self.tally.named:
            yield from told("bad", f"line {row.line}: {row.reason}")
        if self.tally.bad > len(self.tally.named):
            yield f"            and {self.tally.bad - len(self.tally.named):,} more"


def run(args: argparse.Namespace) -> Summary:
    """Read the table once to understand it (all of it with --strict), once to send it."""
    mapping = sample_mapping(args.map, args.set, args.unit)
    with files.opened(args.file) as stream:
        wanted = [*mapping.places.values(), *([] if mapping.long else mapping.counters)]
        names = header(stream, wanted)
        mapping = mapping.completed(names)
        unused = mapping.unused(names)
        if args.strict or args.dry_run:
            tally = rehearse_samples(stream, mapping, args.strict)
            if args.dry_run:
                return Summary(args.file, "nowhere (dry run)", True, mapping, unused, tally)
        from otel_attrib.collector.imports.connection import delivery

        with delivery(args.dsn, args.url) as to:
            with counted(f"importing {args.file}", None) as advance:
                tally = deliver_samples(stream, mapping, to, advance)
            notes = list(filter(None, [expiry_note(to.store, tally.first_ns)]))
            return Summary(args.file, to.shown, False, mapping, unused, tally, notes)
