"""`import otlp`: files of exported OTLP into the store, and the account of it."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from otel_attrib.collector.imports import files
from otel_attrib.collector.imports.delivery import Delivery
from otel_attrib.collector.imports.otlp_import import OtlpTally, deliver_file
from otel_attrib.collector.imports.retention import expiry_note
from otel_attrib.commands.progress import counted
from otel_attrib.commands.wrapping import counted_noun, listed, told
from otel_attrib.errors import DataError

__all__ = ["Summary", "run"]

_ITEMS = {"traces": "span", "metrics": "data point", "logs": "log record"}
_MEMORY = (
    "a service knows repeated metrics and logs for ten minutes (OTEL_ATTRIB_DEDUP_SECONDS), spans for good"
)


@dataclass(frozen=True, slots=True)
class Summary:
    """What the files held and what became of it."""

    where: str
    dry_run: bool
    tally: OtlpTally
    notes: Sequence[str] = ()
    unread: Sequence[str] = field(default=())
    """Files of which nothing could be read, or not all of it."""

    def as_dict(self) -> dict[str, Any]:
        """The account for `--json`."""
        tally = self.tally
        return {
            "where": self.where,
            "dry_run": self.dry_run,
            "files": tally.files,
            "requests": tally.requests,
            "imported": {name: tally.items[name] for name in _ITEMS},
            "already": tally.already,
            "refused": tally.refused,
            "refused_reasons": list(tally.reasons),
            "unread": list(self.unread),
            "bad": tally.bad,
            "bad_parts": [
                {"file": path, "place": part.place, "reason": part.reason} for path, part in tally.named
            ],
            "services": sorted(tally.services),
            "notes": list(self.notes),
        }

    def lines(self) -> list[str]:
        """The account as text, the answer first."""
        tally = self.tally
        text = [self._answer()]
        text += listed("read", [counted_noun(tally.files, "file"), counted_noun(tally.requests, "request")])
        text += listed("service", sorted(tally.services))
        text += listed("refused", tally.reasons)
        for fault in self.unread:
            text += told("unread", fault)
        for path, part in tally.named:
            text += told("bad", f"{path}: {part.place}: {part.reason}")
        if tally.bad > len(tally.named):
            text.append(f"            and {tally.bad - len(tally.named):,} more")
        for note in self.notes:
            text += told("note", note)
        return text

    def _answer(self) -> str:
        tally = self.tally
        counts = [counted_noun(tally.items[name], what) for name, what in _ITEMS.items() if tally.items[name]]
        found = ", ".join(counts) or "nothing"
        rest = {
            f"{tally.already:,} there already": tally.already,
            f"{tally.refused:,} refused": tally.refused,
            counted_noun(tally.bad, "bad part"): tally.bad,
            f"{counted_noun(len(self.unread), 'file')} not read": len(self.unread),
        }
        done = "found, nothing written (dry run)" if self.dry_run else f"imported into {self.where}"
        return "; ".join([f"{found} {done}", *(text for text, count in rest.items() if count)])


def run(args: argparse.Namespace) -> Summary:
    """Read every file; with --strict all of them are read once before anything is sent."""
    from otel_attrib.collector.imports.connection import delivery

    if args.strict or args.dry_run:
        tally = OtlpTally()
        unread = _each(args.files, None, tally, lambda files: None)
        if args.strict:
            _refuse_any(tally, unread)
        if args.dry_run:
            return Summary("nowhere", True, tally, unread=unread)
    tally = OtlpTally()
    with delivery(args.dsn, args.url) as to, counted("importing", len(args.files)) as advance:
        unread = _each(args.files, to, tally, advance)
        to.finish()
        notes = _notes(to, tally)
    if not tally.requests:
        raise DataError(f"{unread[0]}; nothing imported")
    return Summary(to.shown, False, tally, notes, unread)


def _refuse_any(tally: OtlpTally, unread: Sequence[str]) -> None:
    if unread:
        raise DataError(f"{unread[0]} (nothing imported)")
    if tally.bad:
        path, part = tally.named[0]
        count = counted_noun(tally.bad, "bad part")
        raise DataError(f"{path}: {part.place}: {part.reason} ({count}; nothing imported)")


def _notes(to: Delivery, tally: OtlpTally) -> list[str]:
    expiring = expiry_note(to.store, tally.first_ns)
    forgetful = to.shown.startswith("service") and (tally.items["metrics"] or tally.items["logs"])
    return [*([_MEMORY] if forgetful else []), *([expiring] if expiring else [])]


def _each(
    paths: Sequence[str], to: Delivery | None, tally: OtlpTally, advance: Callable[[int], None]
) -> list[str]:
    """Deliver file by file; return, with the reason, those that could not be read as a whole."""
    unread = []
    for path in paths:
        before = tally.requests, tally.bad
        try:
            with files.opened(path) as stream:
                deliver_file(path, stream, to, tally)
        except DataError as fault:
            unread.append(str(fault))
        else:
            if tally.requests == before[0]:
                unread.append(_reason(path, tally, tally.bad - before[1]))
        advance(1)
    return unread


def _reason(path: str, tally: OtlpTally, bad: int) -> str:
    """Why a file gave nothing: its first bad part, where that is among those kept to be named."""
    named = next((part for name, part in tally.named if name == path), None)
    return f"{path}: {named.place}: {named.reason}" if named else f"{path}: {counted_noun(bad, 'bad part')}"
