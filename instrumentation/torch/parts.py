"""How long the parts of an engine's step took: forward pass, collectives, copies between host and device.

    parts = StepParts("cuda")                  # or "cpu": the same calls, the host's clock
    step = parts.begin()                       # on the thread that computes
    with parts.part("forward"):
        model(batch)                           # collectives and copies in it are parts of their own
    parts.end()
    parts.read(step)                           # on another thread: Parts, or None while the device is busy

On a device every part is a pair of events, read when the device is past them and never waited for.
A part within a part of the same name counts once; calls on other threads and outside a step are not
the step's. A part that ran inside a captured graph or compiled code is out of sight: from then on it is
absent (-1), because what is still seen of it would be taken for all of it.
"""

import threading
from collections import deque
from threading import get_ident
from time import monotonic_ns
from typing import Any, Final, NamedTuple

from otel_attrib.instrumentation.shim import guarded
from otel_attrib.instrumentation.torch.device import CudaEvents, Pair

__all__ = ["PARTS", "Parts", "Step", "StepParts", "Totals"]

PARTS: Final = ("forward", "collective", "copy")
MOST_PAIRS = 512
"""Pairs of events in one step; one more and the step's parts are not observed."""
MOST_UNREAD = 64


class Parts(NamedTuple):
    """One step: monotonic ns, durations in ns, sizes in bytes; -1 = not observed."""

    number: int
    started: int
    ended: int
    forward: int
    collective: int
    copy: int
    collective_bytes: int
    copy_bytes: int


class Totals(NamedTuple):
    """Since the process began: steps read, ns and bytes of what was observed in them, steps not read."""

    steps: int = 0
    forward: int = 0
    collective: int = 0
    copy: int = 0
    collective_bytes: int = 0
    copy_bytes: int = 0
    lost: int = 0


class Step:
    """What is known of one step so far."""

    __slots__ = ("bytes", "ended", "known", "ns", "number", "open", "overfull", "pairs", "read", "started")

    def __init__(self, number: int, seen: dict[str, bool]) -> None:
        """Be the step `number`, beginning now."""
        self.number = number
        self.ns = dict.fromkeys(PARTS, 0)
        self.bytes = dict.fromkeys(PARTS, 0)
        self.open = dict.fromkeys(PARTS, 0)
        self.known = seen  # shared: a part once seen is 0, not absent, in a step without it
        self.pairs: list[tuple[str, Pair]] = []
        self.overfull = False
        self.read: Parts | None = None
        self.ended = 0
        self.started = monotonic_ns()


class Part:
    """A `with` block that is counted; its exceptions pass."""

    __slots__ = ("mark", "name", "parts", "size")

    def __init__(self, parts: "StepParts", name: str, size: int) -> None:
        """Belong to `parts`."""
        self.parts = parts
        self.name = name
        self.size = size

    def __enter__(self) -> None:
        """Begin."""
        self.mark = self.parts.guarded_enter(self.name)

    def __exit__(self, *_error: object) -> None:
        """End."""
        self.parts.guarded_leave(self.mark, self.size)


class StepParts:
    """Times the parts of one thread's steps; one step runs at a time, several may be unread."""

    def __init__(self, device: str = "cpu", events: CudaEvents | None = None) -> None:
        """Take the host's clock for "cpu", CUDA events for "cuda"."""
        self.events = events if events is not None else CudaEvents() if device == "cuda" else None
        self.totals = Totals()
        self.thread = 0
        self.step: Step | None = None
        self.count = 0
        self._seen = dict.fromkeys(PARTS, False)
        self._hidden = dict.fromkeys(PARTS, False)
        self._unread: deque[Step] = deque()
        self._lost = 0  # the computing thread's; `totals` are the reading thread's
        self._reading = threading.Lock()
        self.guarded_enter = guarded("torch part begins", self.enter)
        self.guarded_leave = guarded("torch part ends", self.leave)

    def begin(self) -> Step:
        """A step begins on this thread; the one before it is over."""
        if self.step is not None:
            self.end()
        self.thread = get_ident()
        self.count += 1
        self.step = Step(self.count, self._seen)
        return self.step

    def end(self) -> None:
        """The step is over for the host; its device may still be at it."""
        step, self.step = self.step, None
        if step is None:
            return
        step.ended = monotonic_ns()
        if len(self._unread) < MOST_UNREAD:
            self._unread.append(step)
        else:
            self._lost += 1

    def part(self, name: str, size: int = 0) -> "Part":
        """Count the `with` block as part `name`, which moves `size` bytes."""
        return Part(self, name, size)

    def hide(self, name: str) -> None:
        """Part `name` runs where it cannot be seen: it is absent from now on."""
        self._hidden[name] = True

    def enter(self, name: str) -> tuple[Step, str, Any] | None:
        """Begin a part, to be given to `leave`; None where it is not counted."""
        if self.events is not None and self.events.capturing():  # also between steps: graphs are made there
            self._hidden[name] = True
            return None
        step = self.step
        if step is None or get_ident() != self.thread:
            return None
        within = step.open[name]
        step.open[name] = within + 1
        if within:
            return step, name, None
        return step, name, monotonic_ns() if self.events is None else self.events.mark()

    def leave(self, mark: tuple[Step, str, Any] | None, size: int = 0, timed: bool = True) -> None:
        """End a part that moved `size` bytes; not `timed`: it goes on without this thread."""
        if mark is None:
            return
        step, name, begun = mark
        step.open[name] -= 1
        if begun is None:
            return
        self._seen[name] = True
        step.bytes[name] += size
        if not timed:
            return
        if self.events is None:
            step.ns[name] += monotonic_ns() - begun
        elif len(step.pairs) < MOST_PAIRS:
            step.pairs.append((name, Pair(begun, self.events.mark())))
        else:
            step.overfull = True

    def read(self, step: Step) -> Parts | None:
        """Return an ended step's parts, None while its device is busy. Not for the thread that computes."""
        with self._reading:
            if step.read is None and step.ended and self._past(step):
                step.read = self._parts(step)
            return step.read

    def settle(self) -> Totals:
        """Read what the devices are done with and return the sums. Not for the thread that computes."""
        while self._unread:
            step = self._unread[0]
            found = self.read(step)
            if found is None:
                break
            self._unread.popleft()
            self._add(found)
            if self.events is not None:
                for _, pair in step.pairs:
                    self.events.give_back(pair)
                step.pairs = []
        self.totals = self.totals._replace(lost=self._lost)
        return self.totals

    def _past(self, step: Step) -> bool:
        events = self.events
        return events is None or all(events.past(pair) for _, pair in step.pairs)

    def _parts(self, step: Step) -> Parts:
        if self.events is not None:
            for name, pair in step.pairs:
                step.ns[name] += self.events.between(pair)
        known = {name: step.known[name] and not self._hidden[name] for name in PARTS}
        ns = {name: step.ns[name] if known[name] and not step.overfull else -1 for name in PARTS}
        size = {name: step.bytes[name] if known[name] else -1 for name in PARTS}
        return Parts(
            step.number,
            step.started,
            step.ended,
            ns["forward"],
            ns["collective"],
            ns["copy"],
            size["collective"],
            size["copy"],
        )

    def _add(self, parts: Parts) -> None:
        was = self.totals
        self.totals = Totals(
            was.steps + 1,
            was.forward + max(0, parts.forward),
            was.collective + max(0, parts.collective),
            was.copy + max(0, parts.copy),
            was.collective_bytes + max(0, parts.collective_bytes),
            was.copy_bytes + max(0, parts.copy_bytes),
            was.lost,
        )
