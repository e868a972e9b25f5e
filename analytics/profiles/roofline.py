"""What bounds each class of kernels: arithmetic, memory, or neither (Williams, Waterman and Patterson, 2009).

A kernel is joined to the operator that launched it, whose shapes give FLOPs and the least bytes that move
(`work.py`); the card's published peaks give the time that either would take at best. The share of the
class's time that this best time makes is how near the roof it ran. Above NEAR it is bound by that roof:
NVIDIA's Nsight Compute draws the same line (60 % of peak) between a busy unit and latency. As the bytes are
the least that must move, latency is said only below FAR, where even twice the work would not reach NEAR;
between the two it is undecided, and above MOST the work was counted too high. Where shapes cover less than
COVERED of a class's time, or the card is not known, nothing is known, except that kernels shorter than a
launch takes, which the device had to wait for, are bound by launching.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.profiles.cards import Card
from otel_attrib.analytics.profiles.engine_marks import attention_work
from otel_attrib.analytics.profiles.idle import came_late
from otel_attrib.analytics.profiles.kernel_class import CLASSES, COLLECTIVE, classes_of
from otel_attrib.analytics.profiles.number_formats import peak_of_dtype
from otel_attrib.analytics.profiles.pairs import call_of_each
from otel_attrib.analytics.profiles.timeline import UNKNOWN, Activities, Kind, Profile
from otel_attrib.analytics.profiles.work import Work, work_of
from otel_attrib.analytics.wording import percent

__all__ = [
    "COVERED",
    "FAR",
    "LAUNCH_US",
    "MOST",
    "NEAR",
    "RULE",
    "ClassRoof",
    "RuleOfThumb",
    "roofline",
    "rule_of_thumb",
]

NEAR: Final = 0.6
FAR: Final = NEAR / 2
MOST: Final = 1.05
_MOSTLY: Final = 0.5
COVERED: Final = 0.5
LAUNCH_US: Final = 5.0
RULE: Final = 0.7
_ATTENTION: Final = ("flash_attention", "attention")


@dataclass(frozen=True, slots=True)
class ClassRoof:
    """One class of kernels; `known_ns` is the time whose work is known, the shares are of that time.

    `compute_share` and `memory_share` are the best possible time over the time taken; above 1 the work was
    counted too high (a causal mask, data that stayed in the cache). None where nothing is known.
    """

    kind: str
    count: int
    time_ns: int
    known_ns: int
    flops: float
    bytes: float
    compute_share: float | None
    memory_share: float | None
    verdict: str
    reason: str

    @property
    def intensity(self) -> float | None:
        """Return FLOPs for each byte; None without bytes."""
        return self.flops / self.bytes if self.bytes else None


@dataclass(frozen=True, slots=True)
class RuleOfThumb:
    """`flash attention above 70 % of prefill means bandwidth-bound`: what it says here, and the roofline."""

    share: float
    applies: bool
    verdict: str
    text: str


def roofline(profile: Profile, device: int, card: Card | None) -> list[ClassRoof]:
    """Return the classes of kernels of one device, the longest first; copies and collectives are left out."""
    rows = profile.on(device)
    kinds = classes_of(rows, profile.names)
    computing = (rows.kind == Kind.KERNEL) & (kinds != CLASSES.index(COLLECTIVE))
    late = came_late(rows, profile.launches)[computing]
    rows, kinds = rows.take(computing), kinds[computing]
    launched = _Launched(_in_graphs(profile, rows), late)
    best: dict[int, _Best] = defaultdict(_Best)
    for kind, one in _known(profile, rows, kinds, card):
        best[kind].add(one)
    roofs = [
        _roof(CLASSES[kind], rows.take(kinds == kind), best[int(kind)], card, launched.take(kinds == kind))
        for kind in np.unique(kinds)
    ]
    return sorted(roofs, key=lambda roof: (-roof.time_ns, roof.kind))


@dataclass(frozen=True, slots=True)
class _Launched:
    """How kernels were launched: by a graph, and only after the device had run dry."""

    graph: NDArray[np.bool_]
    late: NDArray[np.bool_]

    def take(self, rows: NDArray[np.bool_]) -> "_Launched":
        """Return those of some kernels."""
        return _Launched(self.graph[rows], self.late[rows])


def _in_graphs(profile: Profile, rows: Activities) -> NDArray[np.bool_]:
    """Which kernels a graph launched: they have no operator, and no launch of their own."""
    calls = call_of_each(rows, profile.launches)
    found: NDArray[np.bool_] = rows.graph != UNKNOWN
    known = calls != UNKNOWN
    found[known] |= np.isin(profile.launches.name[calls[known]], profile.named("GraphLaunch"))
    return found


@dataclass(slots=True)
class _Best:
    """Sums over the calls of one class whose work is known; seconds are the best possible ones."""

    time_ns: int = 0
    flops: float = 0.0
    bytes: float = 0.0
    compute_s: float = 0.0
    memory_s: float = 0.0

    def add(self, other: "_Best") -> None:
        """Add another's sums."""
        self.time_ns += other.time_ns
        self.flops += other.flops
        self.bytes += other.bytes
        self.compute_s += other.compute_s
        self.memory_s += other.memory_s


def _known(
    profile: Profile, rows: Activities, kinds: np.ndarray, card: Card | None
) -> Iterator[tuple[int, _Best]]:
    """For each call of an operator whose work is known: the class of its longest kernel, and the sums."""
    works = _works(profile)
    linked = np.flatnonzero(np.isin(rows.external, np.fromiter(works, np.int64, len(works))))
    calls: dict[int, list[int]] = defaultdict(list)
    for row in linked:
        calls[int(rows.external[row])].append(int(row))
    for external, members in calls.items():
        work = works[external]
        longest = max(members, key=lambda row: int(rows.duration_ns[row]))
        time = int(rows.duration_ns[members].sum())
        best = _best(work, time, profile.names[rows.name[longest]], card)
        if best:
            yield int(kinds[longest]), best


def _best(work: Work, time_ns: int, kernel: str, card: Card | None) -> _Best | None:
    """None where the work is arithmetic in a number format for which the card has no published peak."""
    peak = card.peaks.get(peak_of_dtype(work.dtype, kernel) or "") if card else None
    if card and not peak and work.flops > work.bytes:
        return None
    return _Best(
        time_ns=time_ns,
        flops=work.flops,
        bytes=work.bytes,
        compute_s=work.flops / peak if peak else 0.0,
        memory_s=work.bytes / card.memory_bandwidth if card else 0.0,
    )


def _works(profile: Profile) -> Mapping[int, Work]:
    """The work of each operator's call, by its external id."""
    found: dict[int, Work] = {}
    seen: dict[tuple[int, int], Work | None] = {}
    ops = profile.ops
    for row in np.flatnonzero((ops.shape != UNKNOWN) & (ops.external != UNKNOWN)):
        key = (int(ops.name[row]), int(ops.shape[row]))
        if key not in seen:
            seen[key] = work_of(profile.names[key[0]], profile.shapes[key[1]])
        work = seen[key] or attention_work(profile, int(row))
        if work:
            found[int(ops.external[row])] = work
    return found


def _roof(kind: str, rows: Activities, best: _Best, card: Card | None, launched: _Launched) -> ClassRoof:
    time = int(rows.duration_ns.sum())
    seconds = best.time_ns / 1e9
    told = card is not None and seconds > 0
    compute = best.compute_s / seconds if told else None
    memory = best.memory_s / seconds if told else None
    if compute is None or memory is None or best.time_ns < COVERED * time:
        verdict, reason = _unsaid(rows, best.time_ns / time if time else 0.0, card, launched)
    else:
        verdict, reason = _verdict(compute, memory, time / len(rows) / 1000)
    return ClassRoof(
        kind=kind,
        count=len(rows),
        time_ns=time,
        known_ns=best.time_ns,
        flops=best.flops,
        bytes=best.bytes,
        compute_share=compute,
        memory_share=memory,
        verdict=verdict,
        reason=reason,
    )


def _verdict(compute: float, memory: float, mean_us: float) -> tuple[str, str]:
    shares = f"{percent(compute)} of the card's arithmetic, {percent(memory)} of its memory bandwidth"
    most = max(compute, memory)
    if most > MOST:
        return "unknown", f"its shapes tell of more than the card can do: {shares}"
    if most >= NEAR:
        return ("compute-bound" if compute >= memory else "bandwidth-bound"), shares
    if most >= FAR:
        return "undecided", f"{shares}, or more: only the least work is counted"
    return "latency-bound", f"{shares}; {mean_us:.1f} µs a kernel"


def _unsaid(rows: Activities, covered: float, card: Card | None, launched: _Launched) -> tuple[str, str]:
    """What can be said without the work: of what was launched one by one, whether that took as long."""
    time = int(rows.duration_ns.sum())
    if rows.duration_ns[launched.graph].sum() * 2 > time:
        return "unknown", "its kernels run in CUDA graphs, where no operator is recorded"
    mean_us = time / len(rows) / 1000
    if mean_us < LAUNCH_US and launched.late.mean() >= _MOSTLY:
        waits = percent(float(launched.late.mean()))
        return (
            "launch-bound",
            f"kernels of {mean_us:.1f} µs, {waits} of them launched after all else had ended",
        )
    if card is None:
        return "unknown", "no peaks for this card: name it with --card"
    if covered == 0:
        return "unknown", "the file has no shapes for these kernels"
    return "unknown", f"the file has no shapes for {percent(1 - covered)} of the time of these kernels"


def rule_of_thumb(roofs: list[ClassRoof]) -> RuleOfThumb | None:
    """Hold the rule against the roofline; None when no attention ran."""
    attention = [roof for roof in roofs if roof.kind in _ATTENTION]
    total = sum(roof.time_ns for roof in roofs)
    if not attention or not total:
        return None
    share = sum(roof.time_ns for roof in attention) / total
    roof = attention[0]
    return RuleOfThumb(share, share > RULE, roof.verdict, _told(share, roof))


def _told(share: float, roof: ClassRoof) -> str:
    head = f"attention is {percent(share)} of the compute time"
    if share <= RULE:
        says = "the rule of thumb (above 70 % means bandwidth-bound) says nothing"
    else:
        says = "the rule of thumb (above 70 %) says bandwidth-bound"
    if roof.verdict in ("unknown", "undecided", "launch-bound"):
        return f"{head}: {says}; the roofline cannot check it ({roof.reason})"
    word = "agrees" if share > RULE and roof.verdict == "bandwidth-bound" else "says"
    if share > RULE and word == "says":
        return f"{head}: {says}, but the roofline says {roof.verdict} ({roof.reason})"
    return f"{head}: {says}; the roofline {word} {roof.verdict} ({roof.reason})"
