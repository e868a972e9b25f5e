"""Accounts of the requests in an engine process: what each step and each token did to them.

Fed by the hooks in `engine`; knows no vLLM. Two batches may be in flight (asynchronous
scheduling). A step starts on the device when its batch was scheduled and the step before it was
done, whichever is later; so the time between a request's prefill chunks stays in its queue.
Cost: a few µs a step and some tens of ns a token, nothing that grows with the waiting queue.
"""

from collections.abc import Iterable
from typing import NamedTuple

from otel_attrib.instrumentation.facts import First, Last
from otel_attrib.instrumentation.maxima import RecentMaximum

__all__ = ["Batch", "Passage", "Passages", "Times"]

MOST_REQUESTS = 65536


class Times(NamedTuple):
    """When a step's parts were over, in monotonic ns of the engine's clock; -1 = not observed."""

    begun: int
    ready: int
    done: int
    finished: int
    forward: int
    sample: int


class _Totals(NamedTuple):
    """Sums over all steps so far; a request's share is the difference of two readings."""

    forward: int = 0
    sample: int = 0
    output: int = 0
    batch: int = 0
    steps: int = 0
    unobserved: int = 0

    def plus(self, times: Times, size: int) -> "_Totals":
        return _Totals(
            self.forward + max(times.forward, 0),
            self.sample + max(times.sample, 0),
            self.output + times.finished - times.done,
            self.batch + size,
            self.steps + 1,
            self.unobserved + (times.forward < 0),
        )

    def since(self, mark: "_Totals") -> "_Totals":
        return _Totals(*(now - then for now, then in zip(self, mark, strict=True)))

    def and_also(self, other: "_Totals") -> "_Totals":
        return _Totals(*(one + two for one, two in zip(self, other, strict=True)))


class Passage:
    """One request in the engine; times in monotonic ns."""

    __slots__ = (
        "chunks",
        "cursor",
        "in_flight",
        "kv",
        "loading",
        "mark",
        "preemptions",
        "prefill",
        "received",
        "seen",
        "served",
        "step",
    )

    def __init__(self, received: int, seen: int) -> None:
        """Arrive at `received`, before step `seen`."""
        self.received = received
        self.seen = seen
        self.step = -1
        self.cursor = 0  # prefill is accounted for up to here
        self.in_flight = 0
        self.kv = 0
        self.loading = 0
        self.prefill = 0
        self.chunks = 0
        self.preemptions = 0
        self.mark: _Totals | None = None  # reading when its present run of steps began
        self.served = _Totals()  # the runs of steps before that

    def schedule(self, step: int, start: int) -> None:
        """Be part of a step's batch with a piece of the prompt; the step was being scheduled at `start`."""
        if self.step < 0:
            self.step = step
        if self.loading:
            self.kv += start - self.loading
            self.loading = 0
        self.chunks += 1
        self.in_flight += 1

    def compute(self, times: Times, size: int) -> None:
        """A step with a piece of the prompt is done."""
        self.in_flight -= 1
        self.prefill += max(0, times.done - max(times.begun, self.cursor))
        self.cursor = times.done
        self.served = self.served._replace(batch=self.served.batch + size, steps=self.served.steps + 1)


class Batch:
    """A scheduled step whose output is not there yet."""

    __slots__ = ("end", "number", "owner", "prefill_tokens", "prefills", "size", "start")

    def __init__(self, owner: object, number: int, start: int, end: int, size: int) -> None:
        """Step `number` of `size` requests, scheduled from `start` to `end`."""
        self.owner = owner  # holds the host's object, so that its id stays its own
        self.number = number
        self.start = start
        self.end = end
        self.size = size
        self.prefills: list[Passage] = []
        self.prefill_tokens = 0


class Passages:
    """All requests of one engine process."""

    def __init__(self, clock: int) -> None:
        """Start empty, on the clock named `clock`."""
        self.clock = clock
        self.replica = 0
        self.step = 0
        self.totals = _Totals()
        self.opening: dict[str, Passage] = {}  # no token yet
        self.chunking: dict[str, Passage] = {}  # of these, the ones amid their prompt
        self.running: dict[str, Passage] = {}
        self.paused: dict[str, Passage] = {}  # of these, the preempted ones
        self.waiting_max = RecentMaximum()
        self.kv_usage_max = RecentMaximum()

    def receive(self, request: str, now: int) -> None:
        """A request is in the engine's queue."""
        known = request in self.running or request in self.opening
        if not known and len(self.opening) + len(self.running) < MOST_REQUESTS:
            self.opening[request] = Passage(now, self.step + 1)

    def schedule(self, batch: Batch, request: str, tokens: int, *, more: bool) -> None:
        """A batch holds `tokens` of a request's prompt, or of its recomputation; `more` will follow."""
        batch.prefill_tokens += tokens
        passage = self.opening.get(request)
        if passage is None:
            self._resume(request)
            return
        passage.schedule(batch.number, batch.start)
        batch.prefills.append(passage)
        if more:
            self.chunking[request] = passage
        else:
            self.chunking.pop(request, None)

    def _resume(self, request: str) -> None:
        passage = self.paused.pop(request, None)
        if passage is not None:
            passage.mark = self.totals

    def preempt(self, request: str) -> None:
        """A request goes back to the queue."""
        passage = self.opening.get(request)
        if passage is None:
            passage = self.running.get(request)
            if passage is None:
                return
            self._stop(passage)
            self.paused[request] = passage
        passage.preemptions += 1

    def _stop(self, passage: Passage) -> None:
        if passage.mark is not None:
            passage.served = passage.served.and_also(self.totals.since(passage.mark))
            passage.mark = None

    def compute(self, batch: Batch, times: Times) -> None:
        """A step is done; call before its tokens are told."""
        for passage in batch.prefills:
            passage.compute(times, batch.size)
        self.totals = self.totals.plus(times, batch.size)

    def first_token(self, request: str, batch: Batch, times: Times) -> First | None:
        """A request has its first token out of this step."""
        passage = self.opening.pop(request, None)
        if passage is None:
            return None
        self.chunking.pop(request, None)
        if passage in batch.prefills:
            passage.prefill -= min(passage.prefill, times.done - times.ready)
        passage.mark = self.totals
        self.running[request] = passage
        return First(
            self.clock,
            self.replica,
            passage.received,
            times.done,
            passage.kv,
            passage.prefill,
            times.sample,
            passage.chunks,
            passage.step,
            passage.preemptions,
            self.waiting_max.since(passage.seen),
            self.kv_usage_max.since(passage.seen),
        )

    def finish(self, request: str, batch: Batch, times: Times) -> Last | None:
        """A request ends with this step."""
        passage = self.running.pop(request, None)
        if passage is None:
            self.forget((request,))
            return None
        self._stop(passage)
        served = passage.served
        known = served.unobserved == 0
        return Last(
            times.done,
            served.forward if known else -1,
            served.sample if known else -1,
            served.output,
            batch.number,
            served.batch,
            served.steps,
            passage.preemptions,
            self.waiting_max.since(passage.seen),
            self.kv_usage_max.since(passage.seen),
        )

    def forget(self, requests: Iterable[str]) -> None:
        """Requests were aborted."""
        for request in requests:
            for kept in (self.opening, self.chunking, self.running, self.paused):
                kept.pop(request, None)
