"""Two profiles of one program: what moved on the GPU, and whether the step got shorter.

GPU time is the sum of all kernels of all devices, each second of each kernel once; a step is what
`steps.py` finds. Both are divided by the steps, so profiles of different length compare. A change of GPU
time is split exactly into launches (more or fewer of them, at the old mean) and duration (each at the new
count): `a.count·Δmean + …` adds up to the change. When nearly every kernel was launched by the same factor
more or fewer, the profiles hold different amounts of the same work, and neither GPU time nor step says
anything before that is divided out: `work` is that factor.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np

from otel_attrib.analytics.profiles.breakdown import breakdowns
from otel_attrib.analytics.profiles.kernel_class import CLASSES, classes_of
from otel_attrib.analytics.profiles.steps import Steps, steps_of
from otel_attrib.analytics.profiles.timeline import Kind, Profile
from otel_attrib.errors import DataError

__all__ = ["ALIKE", "STILL", "UNTOLD", "Diff", "Moved", "Side", "diff"]

UNTOLD: Final = 0.02
"""One step against one step: a smaller change is not told from chance, as runs differ by that much."""

ALIKE: Final = 0.5
"""Below this share of the time in kernels of both sides, they are different programs."""

STILL: Final = 0.005
"""GPU time that changed by less than this share has not moved."""

_SPREAD: Final = 0.05
_SAME_WORK: Final = 0.02
_REPEATS: Final = 3


@dataclass(frozen=True, slots=True)
class Side:
    """One profile, times in nanoseconds a step; `steps` counts steps, on the device that has most of them."""

    path: str
    devices: int
    steps: int
    marks: str
    step_ns: float
    step_error_ns: float | None
    gpu_ns: float
    kernels: float
    parts_ns: Mapping[str, float]
    missing: tuple[str, ...]
    cut: bool


@dataclass(frozen=True, slots=True)
class Moved:
    """One class or one name of kernels on both sides, a step: counts and nanoseconds."""

    name: str
    count_a: float
    count_b: float
    ns_a: float
    ns_b: float

    @property
    def delta_ns(self) -> float:
        """Return by how much its time changed."""
        return self.ns_b - self.ns_a

    @property
    def by_launches_ns(self) -> float:
        """Return the part of the change that fewer or more launches make, at the mean time of before."""
        if not self.count_a:
            return self.ns_b
        return (self.count_b - self.count_a) * self.ns_a / self.count_a

    @property
    def by_duration_ns(self) -> float:
        """Return the rest: what longer or shorter kernels make."""
        return self.delta_ns - self.by_launches_ns


@dataclass(frozen=True, slots=True)
class Diff:
    """Both sides, what moved (the largest change first), and `work`: launches of b over a's, if uniform.

    `work` is None when kernels changed by different factors: the program changed, not its amount.
    """

    a: Side
    b: Side
    classes: tuple[Moved, ...]
    names: tuple[Moved, ...]
    work: float | None

    @property
    def gpu_delta_ns(self) -> float:
        """Return by how much the GPU time of a step changed."""
        return self.b.gpu_ns - self.a.gpu_ns

    @property
    def step_delta_ns(self) -> float:
        """Return by how much the step changed."""
        return self.b.step_ns - self.a.step_ns

    @property
    def step_change(self) -> float:
        """Return the change of the step as a share of a's."""
        return self.step_delta_ns / self.a.step_ns if self.a.step_ns else 0.0

    @property
    def by_launches_ns(self) -> float:
        """Return the part of the GPU time's change that the number of launches makes."""
        return sum(moved.by_launches_ns for moved in self.names)

    @property
    def by_duration_ns(self) -> float:
        """Return the part that the kernels' durations make."""
        return sum(moved.by_duration_ns for moved in self.names)

    @property
    def gpu_moved(self) -> bool:
        """Return whether the GPU time changed by more than next to nothing."""
        return abs(self.gpu_delta_ns) > STILL * self.a.gpu_ns

    @property
    def shared(self) -> float:
        """Return the share of both sides' GPU time that is in kernels which both have."""
        both = sum(row.ns_a + row.ns_b for row in self.names if row.count_a and row.count_b)
        return both / (self.a.gpu_ns + self.b.gpu_ns)

    @property
    def uneven_work(self) -> bool:
        """Return whether the profiles hold different amounts of the same work."""
        return self.work is not None and abs(self.work - 1) > _SAME_WORK

    @property
    def step_moved(self) -> bool:
        """Return whether the step's change is more than chance."""
        return abs(self.step_delta_ns) > self.step_limit_ns

    @property
    def step_limit_ns(self) -> float:
        """Return up to where a change of the step may be chance: two standard errors where steps repeat."""
        errors = (self.a.step_error_ns, self.b.step_error_ns)
        if errors[0] is None or errors[1] is None:
            return UNTOLD * self.a.step_ns
        return 2 * sqrt(errors[0] ** 2 + errors[1] ** 2)

    @property
    def step_would_tell(self) -> bool:
        """Return whether a step that followed its device's GPU time would have moved beyond chance."""
        return abs(self.gpu_delta_ns) / max(self.a.devices, 1) > self.step_limit_ns


def diff(a: Profile, b: Profile) -> Diff:
    """Compare two profiles, `a` the reference; a `DataError` says which has no kernels."""
    for profile in (a, b):
        if not profile.activities.duration_ns[profile.activities.kind == Kind.KERNEL].any():
            raise DataError(f"{profile.path}: no kernel ran on a device, so there is nothing to compare")
    side_a, side_b = _side(a), _side(b)
    names = _moved(_by_name(a), _by_name(b), side_a.steps, side_b.steps)
    return Diff(
        a=side_a,
        b=side_b,
        classes=_moved(_by_class(a), _by_class(b), side_a.steps, side_b.steps),
        names=names,
        work=_work(names),
    )


def _side(profile: Profile) -> Side:
    every = (steps_of(profile, device) for device in profile.used_devices)
    found = [one for one in every if len(one)]
    steps = max((len(one) for one in found), default=1)
    kernels = profile.activities.take(profile.activities.kind == Kind.KERNEL)
    length, error = _step_length(found)
    return Side(
        path=profile.path,
        devices=len(profile.used_devices),
        steps=steps,
        marks=found[0].kind if found else "",
        step_ns=length,
        step_error_ns=error,
        gpu_ns=int(kernels.duration_ns.sum()) / steps,
        kernels=len(kernels) / steps,
        parts_ns=_parts(profile, steps),
        missing=profile.missing,
        cut=profile.cut,
    )


def _step_length(found: list[Steps]) -> tuple[float, float | None]:
    """The mean step over devices, and its standard error where every device has several."""
    if not found:
        return 0.0, None
    length = float(np.mean([steps.duration_ns.mean() for steps in found]))
    if min(len(steps) for steps in found) < _REPEATS:
        return length, None
    squares = [float(steps.duration_ns.var(ddof=1)) / len(steps) for steps in found]
    return length, sqrt(sum(squares)) / len(squares)


def _parts(profile: Profile, steps: int) -> dict[str, float]:
    """What the devices' time went to, summed over them: computing, exposed communication and copies, idle."""
    total: dict[str, float] = defaultdict(float)
    for one in breakdowns(profile):
        parts = one.parts_ns
        total["compute"] += one.compute_ns / steps
        waits = parts.get("communication", 0) + parts.get("communication+memory", 0)
        total["communication, not hidden"] += waits / steps
        total["copies, not hidden"] += parts.get("memory", 0) / steps
        total["idle"] += one.idle.total_ns / steps
    return dict(total)


Sums = Mapping[str, tuple[int, int]]


def _by_class(profile: Profile) -> Sums:
    kernels = profile.activities.take(profile.activities.kind == Kind.KERNEL)
    return _sums(classes_of(kernels, profile.names), kernels.duration_ns, CLASSES)


def _by_name(profile: Profile) -> Sums:
    kernels = profile.activities.take(profile.activities.kind == Kind.KERNEL)
    return _sums(kernels.name, kernels.duration_ns, profile.names)


def _sums(codes: np.ndarray, durations: np.ndarray, words: tuple[str, ...]) -> Sums:
    count = np.bincount(codes, minlength=len(words))
    order = np.argsort(codes, kind="stable")
    found: dict[str, tuple[int, int]] = {}
    ends = np.cumsum(count)
    for code in np.flatnonzero(count):
        rows = order[ends[code] - count[code] : ends[code]]
        found[words[code]] = (int(count[code]), int(durations[rows].sum()))
    return found


def _moved(a: Sums, b: Sums, steps_a: int, steps_b: int) -> tuple[Moved, ...]:
    none = (0, 0)
    moved = (
        Moved(
            name,
            a.get(name, none)[0] / steps_a,
            b.get(name, none)[0] / steps_b,
            a.get(name, none)[1] / steps_a,
            b.get(name, none)[1] / steps_b,
        )
        for name in {*a, *b}
    )
    return tuple(sorted(moved, key=lambda one: (-abs(one.delta_ns), one.name)))


def _work(names: tuple[Moved, ...]) -> float | None:
    """The factor by which launches changed, weighted by time; None unless nearly all changed by the same."""
    total = sum(moved.ns_a + moved.ns_b for moved in names)
    both = [moved for moved in names if moved.count_a and moved.count_b]
    if not total or not both:
        return None
    weight = np.array([moved.ns_a + moved.ns_b for moved in both])
    logs = np.log([moved.count_b / moved.count_a for moved in both])
    middle = float(np.average(logs, weights=weight))
    alike = float(weight[np.abs(logs - middle) <= _SPREAD].sum()) / total
    return float(np.exp(middle)) if alike >= 1 - 2 * _SPREAD else None
