"""The steps of a profile: the ranges that its program marked as such, or the whole of it as one.

`ProfilerStep#7` (torch.profiler), `execute_…` (vLLM's worker), NVTX ranges such as `step 7`, `iteration_7`.
"""

import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from otel_attrib.analytics.profiles.timeline import UNKNOWN, Ints, Kind, Profile

__all__ = ["WHOLE", "Steps", "steps_of"]

WHOLE: Final = "whole profile"
_MARKS: Final = {
    "ProfilerStep": re.compile(r"ProfilerStep#\d+"),
    "vLLM step": re.compile(r"execute_(?:\w*?)context_\d+.*generation_\d+.*"),
    "marked step": re.compile(
        r"(?:train[ _]?|decode[ _]?)?(?:step|iter(?:ation)?)[ _#:=]*\d+", re.IGNORECASE
    ),
}


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps in the order of their starts; `kind` says who marked them, WHOLE that nobody did."""

    kind: str
    names: tuple[str, ...]
    start_ns: Ints
    end_ns: Ints

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.names)

    @property
    def marked(self) -> bool:
        """Return whether the program marked them."""
        return self.kind != WHOLE

    @property
    def duration_ns(self) -> Ints:
        """Return how long each took."""
        return self.end_ns - self.start_ns


def steps_of(profile: Profile, device: int | None = None) -> Steps:
    """Return the steps, as shown on the device where the file shows them there, else as the host marked them.

    Without marks: one step, from the first kernel's start to the last one's end (of the device, or of all).
    """
    for kind, pattern in _MARKS.items():
        codes = [code for code, name in enumerate(profile.names) if pattern.fullmatch(name)]
        marks = profile.ranges.take(np.isin(profile.ranges.name, codes))
        if len(marks):
            there = marks.device == (UNKNOWN if device is None else device)
            marks = marks.take(there if there.any() else marks.device == UNKNOWN)
        if len(marks):
            first = np.unique(marks.start_ns, return_index=True)[1]
            marks = marks.take(first)
            names = tuple(profile.names[code] for code in marks.name)
            return Steps(kind, names, marks.start_ns, marks.end_ns)
    return _whole(profile, device)


def _whole(profile: Profile, device: int | None) -> Steps:
    rows = profile.activities if device is None else profile.on(device)
    kernels = rows.take(rows.kind == Kind.KERNEL)
    rows = kernels if len(kernels) else rows
    if not len(rows):
        none = np.empty(0, np.int64)
        return Steps(WHOLE, (), none, none)
    return Steps(WHOLE, (WHOLE,), rows.start_ns.min(keepdims=True), rows.end_ns.max(keepdims=True))
