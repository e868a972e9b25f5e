"""A profile as samples: what each step went to, and what copies and collectives moved, on the wall clock.

`profile_share` is a gauge at the end of each step; the others are totals that start at 0 with the profile, in
series of their own, told apart by `slatag.profile.id`: no total of the agent runs through them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics.profiles.kernel_class import CLASSES, COLLECTIVE, classes_of
from otel_attrib.analytics.profiles.number_formats import bytes_of_dtype
from otel_attrib.analytics.profiles.shares import step_shares
from otel_attrib.analytics.profiles.timeline import UNKNOWN, Activities, Direction, Ints, Kind, Profile
from otel_attrib.collector.imports.samples import Sample
from otel_attrib.schema import attributes as names
from otel_attrib.schema.context_counters import registered

__all__ = ["Place", "profile_samples", "unsaid"]

_WAYS = {Direction.H2D: "receive", Direction.D2H: "transmit"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a profile is from; `device` renames its only device, `base_ns` turns its times into wall time."""

    node: str
    device: str
    service: str
    profile: str
    base_ns: int


def profile_samples(profile: Profile, place: Place) -> list[Sample]:
    """Return all samples in the order of their times; the same profile gives the same samples."""
    found = [sample for device in profile.used_devices for sample in _of_device(profile, device, place)]
    return sorted(found, key=lambda sample: (sample.ns, sample.metric, sample.device, sample.more))


def unsaid(profile: Profile) -> list[str]:
    """Return what a reader would look for and this profile does not say, one sentence each."""
    rows = profile.activities
    collective = classes_of(rows, profile.names) == CLASSES.index(COLLECTIVE)
    missing = list(profile.missing)
    if collective.any() and _message_bytes(profile, rows.take(collective)) is None:
        missing.append("the file does not say how much its collectives carried: no collective_bytes")
    host = np.isin(rows.direction, list(_WAYS))
    if host.any() and (rows.bytes[host] == UNKNOWN).any():
        missing.append("the file does not say how much was copied: no copy_bytes")
    return missing


def _of_device(profile: Profile, device: int, place: Place) -> Iterator[Sample]:
    steps = step_shares(profile, device)
    make = _Maker(place, str(device) if not place.device else place.device)
    for step in steps:
        for activity, share in step.shares.items():
            yield make("profile_share", step.end_ns, share, (names.ACTIVITY, activity))
    rows = profile.on(device)
    moments = _moments(rows, [step.end_ns for step in steps])
    for way, word in _WAYS.items():
        copies = rows.take((rows.kind == Kind.COPY) & (rows.direction == way))
        if len(copies):
            known = bool((copies.bytes != UNKNOWN).all())
            yield from _totals(make, "copy", moments, copies, copies.bytes if known else None, word)
    kinds = classes_of(rows, profile.names)
    collectives = rows.take((kinds == CLASSES.index(COLLECTIVE)) & (rows.kind == Kind.KERNEL))
    if len(collectives):
        yield from _totals(make, "collective", moments, collectives, _message_bytes(profile, collectives), "")


def _moments(rows: Activities, ends: list[int]) -> Ints:
    """The profile's begin, each step's end, and its own end when something ran beyond the last step."""
    first, last = int(rows.start_ns.min()), int(rows.end_ns.max())
    return np.array(sorted({first, last, *(end for end in ends if first < end < last)}), np.int64)


@dataclass(frozen=True, slots=True)
class _Maker:
    place: Place
    device: str

    def __call__(self, key: str, at_ns: int, value: float, *more: tuple[str, str]) -> Sample:
        where = (self.place.node, self.device, self.place.service)
        said = (*more, (names.PROFILE_ID, self.place.profile))
        return Sample.of(registered(key), at_ns + self.place.base_ns, where, value, said)


def _totals(
    make: _Maker, what: str, moments: Ints, rows: Activities, sizes: Ints | None, way: str
) -> Iterator[Sample]:
    """Sums of what had ended by each moment: seconds, and bytes where they are known."""
    more = [(names.NETWORK_IO_DIRECTION, way)] if way else []
    for moment in moments:
        ended = rows.end_ns <= moment
        seconds = int(rows.duration_ns[ended].sum()) / 1e9
        yield make(f"{what}_time", int(moment), seconds, *more)
        if sizes is not None:
            yield make(f"{what}_bytes", int(moment), float(sizes[ended].sum()), *more)


def _message_bytes(profile: Profile, rows: Activities) -> Ints | None:
    """The bytes of each message, the larger of what went in and came out; None if any is unsaid."""
    codes, place = np.unique(rows.collective, return_inverse=True)
    sizes = []
    for code in codes:
        told = profile.collectives[code] if code != UNKNOWN else None
        size = bytes_of_dtype(told.dtype) if told else None
        elements = max(told.in_elements, told.out_elements) if told else UNKNOWN
        if size is None or elements == UNKNOWN:
            return None
        sizes.append(size * elements)
    return np.array(sizes, np.int64)[place]
