"""`import profile`: a GPU profile's steps, copies and collectives as samples beside the requests."""

import argparse
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from otel_attrib.analytics.profiles.read import read_profile
from otel_attrib.analytics.profiles.timeline import Profile
from otel_attrib.collector.imports.known_samples import without_known_samples
from otel_attrib.collector.imports.retention import expiry_note
from otel_attrib.collector.imports.samples import Sample, export_samples
from otel_attrib.collector.imports.stamps import wall_nanoseconds
from otel_attrib.collector.signals import METRICS
from otel_attrib.commands.profile_samples import Place, profile_samples, unsaid
from otel_attrib.commands.wrapping import counted_noun, listed, stamp, told
from otel_attrib.errors import UsageError

__all__ = ["Summary", "run"]

_SET = ("node", "device", "service")


@dataclass(frozen=True, slots=True)
class Summary:
    """What was read and what became of it."""

    file: str
    where: str
    dry_run: bool
    source: str
    place: Place
    samples: Sequence[Sample]
    imported: int
    already: int
    refused: int
    missing: Sequence[str]
    notes: Sequence[str] = ()

    def as_dict(self) -> dict[str, Any]:
        """The account for `--json`."""
        return {
            "file": self.file,
            "where": self.where,
            "dry_run": self.dry_run,
            "format": self.source,
            "profile": self.place.profile,
            "node": self.place.node,
            "devices": sorted({sample.device for sample in self.samples}),
            "values": len(self.samples),
            "imported": self.imported,
            "already": self.already,
            "refused": self.refused,
            "first": stamp(self.samples[0].ns) if self.samples else None,
            "last": stamp(self.samples[-1].ns) if self.samples else None,
            "metrics": dict(sorted(Counter(sample.metric for sample in self.samples).items())),
            "missing": list(self.missing),
            "notes": list(self.notes),
        }

    def lines(self) -> list[str]:
        """The account as text, the answer first."""
        return [self._answer(), *self._understood()]

    def _answer(self) -> str:
        if self.dry_run:
            count = counted_noun(len(self.samples), "value")
            return f"{count} in {Path(self.file).name}; nothing written (dry run)"
        done = f"{counted_noun(self.imported, 'value')} imported into {self.where}"
        rest = {
            f"{self.already:,} there already": self.already,
            f"{self.refused:,} refused by the receiver": self.refused,
        }
        return "; ".join([done, *(text for text, count in rest.items() if count)])

    def _understood(self) -> Iterator[str]:
        if self.samples:
            yield f"  time      {stamp(self.samples[0].ns)} … {stamp(self.samples[-1].ns)}"
        yield from listed("node", [self.place.node])
        yield from listed("device", sorted({sample.device for sample in self.samples}))
        yield from listed("profile", [f"{self.place.profile} ({self.source})"])
        counts = Counter(sample.metric for sample in self.samples)
        yield from listed("values", (f"{name} {count:,}" for name, count in sorted(counts.items())))
        for text in self.missing:
            yield from told("missing", text)
        for note in self.notes:
            yield from told("note", note)


def run(args: argparse.Namespace) -> Summary:
    """Read the profile, leave out what the store holds already, send the rest."""
    profile = read_profile(args.file)
    place = _place(args, profile)
    samples = profile_samples(profile, place)
    missing = unsaid(profile)
    if args.strict and missing:
        raise UsageError(f"{missing[0]} (--strict: nothing imported)")
    if args.dry_run:
        return Summary(args.file, "nowhere (dry run)", True, profile.source, place, samples, 0, 0, 0, missing)
    from otel_attrib.collector.imports.connection import delivery

    with delivery(args.dsn, args.url) as to:
        fresh = without_known_samples(to.store, samples)
        refused = to.send(METRICS, export_samples(fresh)) if fresh else 0
        to.finish()
        notes = list(filter(None, [expiry_note(to.store, samples[0].ns if samples else None)]))
        return Summary(
            file=args.file,
            where=to.shown,
            dry_run=False,
            source=profile.source,
            place=place,
            samples=samples,
            imported=len(fresh) - refused,
            already=len(samples) - len(fresh),
            refused=refused,
            missing=missing,
            notes=notes,
        )


def _place(args: argparse.Namespace, profile: Profile) -> Place:
    said = dict(_pair(word) for word in args.set)
    if strange := sorted(set(said) - set(_SET)):
        raise UsageError(f"--set {strange[0]}: a profile has {', '.join(_SET)}")
    if not said.get("node"):
        raise UsageError("no node is given: --set node=NAME, called as in the requests")
    if said.get("device") and len(profile.used_devices) > 1:
        devices = ", ".join(map(str, profile.used_devices))
        raise UsageError(
            f"--set device: this profile has several devices ({devices}), which keep their numbers"
        )
    return Place(
        node=said["node"],
        device=said.get("device", ""),
        service=said.get("service", ""),
        profile=_identity(args.file),
        base_ns=_base(args, profile),
    )


def _base(args: argparse.Namespace, profile: Profile) -> int:
    """What turns the profile's times into nanoseconds since 1970: its own clock, or the given start."""
    if args.start:
        try:
            moment = wall_nanoseconds(args.start)
        except ValueError as fault:
            raise UsageError(f"--start: {fault}") from None
        return moment - (int(profile.activities.start_ns.min()) if len(profile.activities) else 0)
    if profile.wall_base_ns is None:
        raise UsageError("this profile does not say when it was taken: --start TIME, of its first activity")
    return profile.wall_base_ns


def _pair(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not (name and equals and value):
        raise UsageError(f"--set {word!r}: write name=value")
    return name, value


def _identity(file: str) -> str:
    """The first half of the content's SHA-256 that fits a glance: 12 digits."""
    with Path(file).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:12]
