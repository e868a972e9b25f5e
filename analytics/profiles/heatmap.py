"""How busy each device, class of work and stream was over time: one lane each, one share a cell of time.

A share is the time in which the lane ran anything over the cell's width: parallel work counts once, so it
never exceeds 1.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.profiles.intervals import Spans
from otel_attrib.analytics.profiles.kernel_class import CLASSES, classes_of
from otel_attrib.analytics.profiles.timeline import Activities, Ints, Kind, Profile
from otel_attrib.analytics.profiles.verdict import duration
from otel_attrib.analytics.wording import percent

__all__ = ["BY", "Heatmap", "Lane", "answer", "heatmap"]

BY: Final = ("class", "stream", "both")
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Lane:
    """One row: `kind` is device, class or stream; `share` is (cells,), `busy` the share of the whole span."""

    device: int
    kind: str
    label: str
    share: Floats
    busy: float


@dataclass(frozen=True, slots=True)
class Heatmap:
    """`edges_ns` is (cells + 1,), counted from the first start; a device's own lane stands before its others.

    `gap_ns` is the longest time in which a device did nothing: device, begin, length.
    """

    path: str
    titles: dict[int, str]
    edges_ns: Floats
    lanes: tuple[Lane, ...]
    gap_ns: tuple[int, int, int]
    missing: tuple[str, ...] = ()
    cut: bool = False

    @property
    def span_ns(self) -> float:
        """Return how long the profile is."""
        return float(self.edges_ns[-1])


def heatmap(profile: Profile, cells: int, by: str = "both") -> Heatmap:
    """Cut the profile into cells of equal width; `by` chooses the lanes below each device's own."""
    rows = profile.activities
    start = int(rows.start_ns.min()) if len(rows) else 0
    end = int(rows.end_ns.max()) if len(rows) else 1
    edges = np.linspace(0.0, end - start, cells + 1)
    lanes = [lane for device in profile.used_devices for lane in _lanes(profile, device, start, edges, by)]
    titles = {device: profile.device(device).name for device in profile.used_devices}
    gap = _longest_gap(profile, start)
    return Heatmap(profile.path, titles, edges, tuple(lanes), gap, profile.missing, profile.cut)


def _longest_gap(profile: Profile, start: int) -> tuple[int, int, int]:
    found = [(0, 0, 0)]
    for device in profile.used_devices:
        gaps = Spans.covered_by(profile.on(device)).gaps()
        lengths = gaps.end_ns - gaps.start_ns
        if lengths.size:
            longest = int(lengths.argmax())
            found.append((device, int(gaps.start_ns[longest]) - start, int(lengths[longest])))
    return max(found, key=lambda gap: gap[2])


def _lanes(profile: Profile, device: int, start: int, edges: Floats, by: str) -> Iterator[Lane]:
    rows = profile.on(device)
    yield _lane(device, "device", f"GPU {device}", rows, start, edges)
    if by in ("class", "both"):
        yield from _classes(profile, device, rows, start, edges)
    if by in ("stream", "both"):
        for stream in np.unique(rows.stream):
            yield _lane(device, "stream", f"stream {stream}", rows.take(rows.stream == stream), start, edges)


def _classes(profile: Profile, device: int, rows: Activities, start: int, edges: Floats) -> Iterator[Lane]:
    """The classes of kernels, the busiest first; copies of the copy engines apart from copying kernels."""
    kinds = classes_of(rows, profile.names)
    kinds = np.where(rows.kind == Kind.COPY, len(CLASSES), kinds)
    words = (*CLASSES, "copy engine")
    found = [
        _lane(device, "class", words[kind].replace("_", " "), rows.take(kinds == kind), start, edges)
        for kind in np.unique(kinds)
    ]
    yield from sorted(found, key=lambda lane: (-lane.busy, lane.label))


def _lane(device: int, kind: str, label: str, rows: Activities, start: int, edges: Floats) -> Lane:
    spans = Spans.covered_by(rows)
    covered = _covered(spans.start_ns - start, spans.end_ns - start, edges)
    width = np.diff(edges)
    share = np.divide(np.diff(covered), width, out=np.zeros(width.size), where=width > 0)
    busy = spans.length_ns / edges[-1] if edges[-1] else 0.0
    return Lane(device, kind, label, np.clip(share, 0.0, 1.0), float(busy))


def _covered(start: Ints, end: Ints, moments: Floats) -> Floats:
    """How much of the disjoint spans lies before each moment."""
    if not start.size:
        return np.zeros(moments.size)
    before = np.concatenate(([0], np.cumsum(end - start)))
    place = np.searchsorted(start, moments, side="right")
    inside = np.minimum(moments, end[np.maximum(place - 1, 0)]) - start[np.maximum(place - 1, 0)]
    found: Floats = np.where(place > 0, before[np.maximum(place - 1, 0)] + inside, 0.0)
    return found


def answer(found: Heatmap) -> str:
    """Return how busy each device was, and when one did nothing for longest."""
    lanes = [lane for lane in found.lanes if lane.kind == "device"]
    if not lanes:
        return "this profile holds nothing that a device did"
    told = ", ".join(f"{lane.label} busy {percent(lane.busy)}" for lane in lanes[:8])
    device, begin, length = found.gap_ns
    idle = f"; longest without work: GPU {device}, {duration(length)} at {duration(begin)}" if length else ""
    cut = "; the file is cut" if found.cut else ""
    return f"{told} of {duration(found.span_ns)}{idle}{cut}"
