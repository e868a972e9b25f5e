"""The decision at the end of a request: keep it whole, keep it for others like it, or count it as dropped.

Kept whole, in this order: what failed, what was asked for, what is slow, the first of its kind, one in so
many seconds. Each of these depends on the request itself and on what came before, never on its trace id, so
the weight of the rest, one over the share, makes every count and quantile right on average.
"""

from collections import Counter
from dataclasses import dataclass, field
from math import log2
from typing import Any

from opentelemetry.trace import SpanContext

from otel_attrib.instrumentation.recorder import Timeline
from otel_attrib.instrumentation.request_span import outcome
from otel_attrib.instrumentation.sampling import consistent
from otel_attrib.instrumentation.sampling.rules import TailRules
from otel_attrib.instrumentation.sampling.usual import Usually
from otel_attrib.instrumentation.sla import baggage_of
from otel_attrib.schema.attributes import SAMPLE_REASON, SAMPLE_WEIGHT

__all__ = ["KEEP_HEADER", "KEEP_KEY", "Choice", "TailSampler"]

KEEP_HEADER = b"x-slatag-keep"
KEEP_KEY = "slatag.keep"
"""Key of the baggage that says the same as the header."""
_YES = {"1", "true", "yes"}


@dataclass(frozen=True, slots=True)
class Choice:
    """What becomes of a request: why it is kept, and how many it stands for; `reason` empty: dropped."""

    reason: str
    weight: float = 1.0

    @property
    def attributes(self) -> dict[str, Any]:
        """What its span says of it; a weight of one is not said, so that an earlier sampler's word holds."""
        weight = {SAMPLE_WEIGHT: self.weight} if self.weight > 1 else {}
        return {SAMPLE_REASON: self.reason, **weight}


@dataclass(slots=True)
class TailSampler:
    """Chooses, and counts what it kept by reason and what it dropped; for one thread."""

    rules: TailRules
    kept: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    usually: Usually = field(init=False)
    trickled: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        """Follow the quantile that the rules name."""
        self.usually = Usually(self.rules.quantile or 0.5)

    def choose(self, timeline: Timeline, context: SpanContext) -> Choice:
        """Decide on one request that is over; `context` is that of its span."""
        reason = self._whole(timeline)
        choice = Choice(reason) if reason else self._rest(context)
        if choice.reason:
            self.kept[choice.reason] += 1
        else:
            self.dropped["sampled"] += 1
        return choice

    def lost(self, reason: str, count: int = 1) -> None:
        """Count requests that were lost without a choice: `queue`, `budget`, `head`."""
        self.dropped[reason] += count

    def _whole(self, timeline: Timeline) -> str:
        """Return why the request is kept whole, or nothing."""
        slow = self._slow(timeline)  # first: every request teaches what is usual
        if outcome(timeline)[0] != "ok":
            return "failed"
        if _asked(timeline):
            return "asked"
        if slow:
            return slow
        gap_ns = self.rules.trickle_s * 1e9
        if gap_ns and timeline.arrived >= self.trickled:
            self.trickled = timeline.arrived + round(gap_ns)
            return "trickle"
        return ""

    def _slow(self, timeline: Timeline) -> str:
        times = times_of(timeline)
        above = any(times[name] > us for name, us in self.rules.limits_us.items() if name in times)
        if not self.rules.quantile:
            return "slow" if above else ""
        seen = [self.usually.exceeds(_kind(name, timeline), us) for name, us in times.items()]
        if above or any(seen):
            return "slow"
        return "new" if None in seen else ""

    def _rest(self, context: SpanContext) -> Choice:
        state = context.trace_state.to_header() if context.trace_state else ""
        rejected = max(consistent.threshold(self.rules.share), consistent.threshold_before(state))
        if consistent.randomness(context.trace_id, state) < rejected:
            return Choice("")
        return Choice("rest", consistent.adjusted_count(rejected))


def times_of(timeline: Timeline) -> dict[str, float]:
    """Return ttft, tpot and e2e in µs, as far as they were observed."""
    found = {"e2e": (timeline.ended - timeline.arrived) / 1e3}
    leader = timeline.leader()
    if leader is None:
        return found
    stamps = leader.stamps
    found["ttft"] = (stamps[0] - timeline.arrived) / 1e3
    if len(stamps) > 1:
        found["tpot"] = (stamps[-1] - stamps[0]) / 1e3 / (len(stamps) - 1)
    return found


def _kind(name: str, timeline: Timeline) -> tuple[str, str, int]:
    """Return what a time is compared within: model and the size that it grows with, in octaves."""
    if name == "ttft":
        size = sum(one.prompt_tokens for one in timeline.sequences)
    else:
        size = sum(one.tokens for one in timeline.sequences) if name == "e2e" else 0
    return name, timeline.model, int(log2(size)) if size > 0 else 0


def _asked(timeline: Timeline) -> bool:
    baggage = ""
    for name, value in timeline.headers:
        lowered = name.lower()
        if lowered == KEEP_HEADER and value.decode("latin-1").strip().lower() in _YES:
            return True
        if lowered == b"baggage":
            baggage = value.decode("latin-1")
    return baggage_of(baggage).get(KEEP_KEY, "").lower() in _YES if baggage else False
