"""The steps of a profile: the ranges that its program marked as such, or the whole of it as one.

`ProfilerStep#7` (torch.profiler), `execute_…` (vLLM's worker), NVTX ranges such as `step 7`, `iteration_7`.
"""

import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from otel_attrib.analytics.profiles.pairs import call_of_each
from otel_attrib.analytics.profiles.timeline import UNKNOWN, Ints, Kind, Profile, Ranges

__all__ = ["WHOLE", "Steps", "steps_of"]

WHOLE: Final = "whole profile"
_ENGINE: Final = "vLLM step"
_MARKS: Final = {
    "ProfilerStep": re.compile(r"ProfilerStep#\d+"),
    _ENGINE: re.compile(r"execute_(?:\w*?)context_\d+.*generation_\d+.*"),
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


def steps_of(profile: Profile, device: int) -> Steps:
    """Return the steps of one device in order; without marks one, from first kernel's start to last end.

    Marks that the file shows on the device are taken as they are. A mark of the host covers launching alone
    and the device runs behind, so there a step is what was launched within the mark; it stands as the host
    has it where no call was recorded. A step lasts until the next one begins on the device, but one of an
    engine (`execute_…`) ends with its own work: what follows is waiting for requests.
    """
    for kind, pattern in _MARKS.items():
        marks = _marks(profile, device, pattern)
        if len(marks):
            names = tuple(profile.names[code] for code in marks.name)
            steps = Steps(kind, names, marks.start_ns, marks.end_ns)
            if not (marks.device == device).any():
                launched = _launched(profile, device, steps)
                if launched is None:
                    return steps
                steps = launched
            return steps if kind == _ENGINE else _lasting(steps)
    return _whole(profile, device)


def _marks(profile: Profile, device: int, pattern: re.Pattern[str]) -> Ranges:
    """The device's own marks, else those of the processes that used it, one for each start."""
    codes = [code for code, name in enumerate(profile.names) if pattern.fullmatch(name)]
    marks = profile.ranges.take(np.isin(profile.ranges.name, codes))
    if (marks.device == device).any():
        marks = marks.take(marks.device == device)
    else:
        users = np.unique(profile.on(device).process)
        marks = marks.take((marks.device == UNKNOWN) & np.isin(marks.process, users))
    return marks.take(np.unique(marks.start_ns, return_index=True)[1])


def _launched(profile: Profile, device: int, marks: Steps) -> Steps | None:
    """Turn marks of the host into spans of what was launched within them; those that launched nothing go."""
    rows = profile.on(device)
    calls = call_of_each(rows, profile.launches)
    rows, calls = rows.take(calls != UNKNOWN), calls[calls != UNKNOWN]
    called = profile.launches.start_ns[calls]
    place = np.searchsorted(marks.start_ns, called, side="right") - 1
    within = (place >= 0) & (called < marks.end_ns[place])
    rows, place = rows.take(within), place[within]
    if not place.size:
        return None
    found, place = np.unique(place, return_inverse=True)
    start, end = np.full(found.size, np.iinfo(np.int64).max), np.zeros(found.size, np.int64)
    np.minimum.at(start, place, rows.start_ns)
    np.maximum.at(end, place, rows.end_ns)
    return Steps(marks.kind, tuple(marks.names[one] for one in found), start, end)


def _lasting(steps: Steps) -> Steps:
    """Let each step but the last end where the next begins."""
    ends = np.concatenate((steps.start_ns[1:], steps.end_ns[-1:]))
    return Steps(steps.kind, steps.names, steps.start_ns, ends)


def _whole(profile: Profile, device: int) -> Steps:
    rows = profile.on(device)
    kernels = rows.take(rows.kind == Kind.KERNEL)
    rows = kernels if len(kernels) else rows
    if not len(rows):
        none = np.empty(0, np.int64)
        return Steps(WHOLE, (), none, none)
    return Steps(WHOLE, (WHOLE,), rows.start_ns.min(keepdims=True), rows.end_ns.max(keepdims=True))
