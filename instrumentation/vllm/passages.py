"""Accounts of the requests in an engine process: what each step and each token did to them.

Fed by the hooks in `engine`; knows no vLLM. Two batches may be in flight (asynchronous
scheduling). A step starts on the device when its batch was scheduled and the step before it was
done, whichever is later; so the time between a request's prefill chunks stays in its queue.
Sums over steps are kept for the whole engine; a request's share is the difference of two readings,
so a step costs the same whatever its batch, and nothing grows with the waiting queue.
"""

from collections.abc import Iterable
from typing import NamedTuple

from otel_attrib.instrumentation.facts import First, Last
from otel_attrib.instrumentation.maxima import RecentMaximum

__all__ = ["Batch", "Passage", "Passages", "Times"]

MOST_REQUESTS = 65536


class Times(NamedTuple):
    """When a step's parts were over, in monotonic ns of the engine's clock.

    The step ran from `begun`; logits at `ready`, token ids at `done`, output handled at `finished`.
    """

    begun: int
    ready: int
    done: int
    finished: int


class Reading(NamedTuple):
    """Sums over steps: ns in the workers' forward passes, in their sampling, and handling outputs."""

    forward: int = 0
    sample: int = 0
    output: int = 0
    batch: int = 0
    steps: int = 0
    unobserved: int = 0

    def since(self, mark: "Reading") -> "Reading":
        """What was added since `mark` was read."""
        return Reading(*(now - then for now, then in zip(self, mark, strict=True)))

    def plus(self, more: "Reading") -> "Reading":
        """Both together."""
        return Reading(*(one + other for one, other in zip(self, more, strict=True)))


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
        self.mark: Reading | None = None  # when its present run of steps began
        self.served: Reading | None = None  # the runs of steps before that

    def schedule(self, step: int, start: int) -> None:
        """Be part of a step's batch with a piece of the prompt; the step was being scheduled at `start`."""
        if self.step < 0:
            self.step = step
        if self.loading:
            self.kv += start - self.loading
            self.loading = 0
        self.chunks += 1
        self.in_flight += 1

    def compute(self, times: Times) -> None:
        """A step with a piece of the prompt is done."""
        self.in_flight -= 1
        self.prefill += max(0, times.done - max(times.begun, self.cursor))
        self.cursor = times.done

    def stop(self, now: Reading) -> None:
        """Its present run of steps ends."""
        if self.mark is not None:
            run = now.since(self.mark)
            self.served = run if self.served is None else self.served.plus(run)
            self.mark = None


class Batch:
    """A scheduled step whose output is not there yet."""

    __slots__ = ("counts", "end", "number", "owner", "prefill_tokens", "prefills", "size", "start")

    def __init__(
        self, owner: object, number: int, start: int, end: int, size: int, counts: tuple[int, int, int, int]
    ) -> None:
        """Step `number` of `size` requests, scheduled from `start` to `end`; `counts` is kept for its row."""
        self.owner = owner  # holds the host's object, so that its id stays its own
        self.number = number
        self.start = start
        self.end = end
        self.size = size
        self.counts = counts
        self.prefills: list[Passage] | None = None
        self.prefill_tokens = 0


class Passages:
    """All requests of one engine process."""

    def __init__(self, clock: int) -> None:
        """Start empty, on the clock named `clock`."""
        self.clock = clock
        self.replica = 0
        self.step = 0
        self.forward = self.sample = self.output = self.batch = self.steps = self.unobserved = 0
        self.opening: dict[str, Passage] = {}  # no token yet
        self.chunking: dict[str, Passage] = {}  # of these, the ones amid their prompt
        self.running: dict[str, Passage] = {}
        self.paused: dict[str, Passage] = {}  # of these, the preempted ones
        self.waiting_max = RecentMaximum()
        self.kv_usage_max = RecentMaximum()

    def read(self) -> Reading:
        """The sums so far."""
        return Reading(self.forward, self.sample, self.output, self.batch, self.steps, self.unobserved)

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
        if batch.prefills is None:
            batch.prefills = []
        batch.prefills.append(passage)
        if more:
            self.chunking[request] = passage
        else:
            self.chunking.pop(request, None)

    def _resume(self, request: str) -> None:
        passage = self.paused.pop(request, None)
        if passage is not None:
            passage.mark = self.read()

    def preempt(self, request: str) -> None:
        """A request goes back to the queue."""
        passage = self.opening.get(request)
        if passage is None:
            passage = self.running.get(request)
            if passage is None:
                return
            passage.stop(self.read())
            self.paused[request] = passage
        passage.preemptions += 1

    def compute(self, batch: Batch, times: Times, forward: int, sample: int) -> None:
        """A step is done, -1 where its worker told nothing; call before its tokens are told."""
        if batch.prefills is not None:
            for passage in batch.prefills:
                passage.compute(times)
        if forward >= 0:
            self.forward += forward
            self.sample += sample
        else:
            self.unobserved += 1
        self.output += times.finished - times.done
        self.batch += batch.size
        self.steps += 1

    def first_token(self, request: str, batch: Batch, times: Times, sample: int) -> First | None:
        """A request has its first token out of this step."""
        passage = self.opening.pop(request, None)
        if passage is None:
            return None
        self.chunking.pop(request, None)
        if batch.prefills is not None and passage in batch.prefills:
            passage.prefill -= min(passage.prefill, times.done - times.ready)
        passage.mark = self.read()
        self.running[request] = passage
        return First(
            self.clock,
            self.replica,
            passage.received,
            times.done,
            passage.kv,
            passage.prefill,
            sample,
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
        passage.stop(self.read())
        served = passage.served or Reading()
        known = served.unobserved == 0
        return Last(
            times.done,
            served.forward if known else -1,
            served.sample if known else -1,
            served.output,
            batch.number,
            served.batch + batch.size if served.steps == 0 else served.batch,
            max(served.steps, 1),
            passage.preemptions,
            self.waiting_max.since(passage.seen),
            self.kv_usage_max.since(passage.seen),
        )

    def forget(self, requests: Iterable[str]) -> None:
        """Requests were aborted."""
        for request in requests:
            for kept in (self.opening, self.chunking, self.running, self.paused):
                kept.pop(request, None)
