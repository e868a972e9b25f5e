"""Spans, built off the engine's threads: a request's tree after its last byte, packed steps once a second.

The engine's thread pays for one append. The queue is bounded and what does not fit is counted;
the sampler is asked before anything is computed, so an unsampled request costs one question.
"""

import os
from collections import deque
from dataclasses import dataclass, field

from opentelemetry import propagate
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context

from otel_attrib.instrumentation import background, status
from otel_attrib.instrumentation.clock import wall_offset_ns
from otel_attrib.instrumentation.logs.correlate import settle
from otel_attrib.instrumentation.logs.ids import planned
from otel_attrib.instrumentation.provider import COUNTS, tracer
from otel_attrib.instrumentation.recorder import Timeline
from otel_attrib.instrumentation.request_span import attributes_of, outcome, stages_of, worst_gaps
from otel_attrib.instrumentation.sampling.rules import tail_rules
from otel_attrib.instrumentation.sampling.tail import TailSampler
from otel_attrib.instrumentation.shim import CHILD_SPANS, FAULTS, say
from otel_attrib.instrumentation.steps import Slice
from otel_attrib.schema.attributes import (
    ENGINE,
    GAP_US,
    PROCESSING_STAGE,
    REPLICA,
    REQUEST_SCOPE,
    STAGES,
    STEPS_SCOPE,
    STEPS_SPAN_NAME,
    TOKEN_INDEX,
    TOKEN_STALL_EVENT,
)

__all__ = ["MOST_QUEUED", "SpanWriter", "write_request", "write_steps"]

MOST_QUEUED = 8192


def child_spans_wanted() -> bool:
    """Whether stages also become child spans (default yes)."""
    return os.environ.get(CHILD_SPANS, "1").strip().lower() not in {"0", "false", "no", "off"}


@dataclass(slots=True)
class SpanWriter:
    """Queue of finished requests and the tracers of this process."""

    versions: dict[str, str] = field(default_factory=dict)
    queue: deque[tuple[Timeline, str]] = field(default_factory=deque)
    dropped: int = 0
    requests: Tracer | None = None
    steps: Tracer | None = None
    tail: TailSampler | None = None

    def put(self, timeline: Timeline, engine: str) -> None:
        """Take a finished request; full queues drop and count."""
        if len(self.queue) >= MOST_QUEUED:
            self.dropped += 1
            self._lost("queue")
            return
        self.queue.append((timeline, engine))

    def drain(self) -> None:
        """Turn what is queued into spans."""
        while self.queue:
            timeline, engine = self.queue.popleft()
            if self.requests is None:
                status.tell("request")
                self.requests = tracer(REQUEST_SCOPE, self.versions.get(engine, ""), engine)
                self._sample(engine)
            if not background.BUDGET.spans:
                COUNTS.shed += 1
                self._lost("budget")
                continue
            self.request(self.requests, timeline, engine)

    def request(self, spans: Tracer, timeline: Timeline, engine: str) -> None:
        """Write one request: its SERVER span, a child per stage, an event per stall."""
        parent = propagate.extract(
            {name.decode("latin-1"): value.decode("latin-1") for name, value in timeline.headers}, Context()
        )
        name = f"{timeline.operation or 'text_completion'} {timeline.model}".rstrip()
        with planned(settle(timeline)):
            span = spans.start_span(name, parent, SpanKind.SERVER, start_time=timeline.wall)
        if not span.is_recording():
            self._lost("head")
            return
        choice = self.tail.choose(timeline, span.get_span_context()) if self.tail else None
        if choice is not None and not choice.reason:
            return  # a span that is never ended is never exported
        COUNTS.made += 1
        said = choice.attributes if choice else {}
        span.set_attributes(attributes_of(timeline, engine, self.versions.get(engine, "")) | said)
        kind, error = outcome(timeline)
        if kind in ("error", "timeout"):
            span.set_status(Status(StatusCode.ERROR, error))
        for moment, index, gap in worst_gaps(timeline):
            at = timeline.wall + moment - timeline.arrived
            span.add_event(TOKEN_STALL_EVENT, {TOKEN_INDEX: index, GAP_US: gap}, timestamp=at)
        if background.BUDGET.children and child_spans_wanted():
            _children(spans, span, timeline)
        span.end(timeline.wall + timeline.ended - timeline.arrived)

    def _sample(self, engine: str) -> None:
        """Begin tail sampling, where it was asked for."""
        rules = tail_rules()
        if rules is not None and self.tail is None:
            from otel_attrib.instrumentation.sampling.metrics import TailMetrics

            self.tail = TailSampler(rules)
            background.every_tick(TailMetrics(self.tail, engine).tick)

    def _lost(self, reason: str) -> None:
        if self.tail is not None:
            self.tail.lost(reason)

    def packed_steps(self, found: Slice, engine: str, replica: str) -> None:
        """Write one slice of steps as one span."""
        if self.steps is None:
            self.steps = tracer(STEPS_SCOPE, self.versions.get(engine, ""), engine, every=True)
        offset = wall_offset_ns()
        span = self.steps.start_span(
            STEPS_SPAN_NAME,
            Context(),
            SpanKind.INTERNAL,
            attributes=found.attributes | {ENGINE: engine, REPLICA: replica},
            start_time=found.start + offset,
        )
        if span.is_recording():
            COUNTS.made += 1
        span.end(found.end + offset)

    def report(self) -> None:
        """Say at the end what was lost or failed, if anything was."""
        counts = {
            "dropped": self.dropped,
            "made": COUNTS.made,
            "exported": COUNTS.exported,
            "failed": COUNTS.failed,
            "shed": COUNTS.shed,
            "faults": sum(FAULTS.counts.values()),
        }
        status.tell("counts", counts=counts, failure=COUNTS.last_failure, faults=FAULTS.last)
        if self.dropped or COUNTS.failed or COUNTS.shed or FAULTS.counts:
            say(" ".join(f"{name}={count}" for name, count in counts.items()))


def _children(spans: Tracer, parent: Span, timeline: Timeline) -> None:
    """One child span per stage, end to end in the stages' order; their lengths are the stages' times."""
    inside = set_span_in_context(parent, Context())
    start = timeline.wall
    stages = stages_of(timeline)
    for stage in STAGES:
        if stage not in stages or (stage == "outside" and not stages[stage]):
            continue
        end = start + stages[stage]
        child = spans.start_span(stage, inside, attributes={PROCESSING_STAGE: stage}, start_time=start)
        child.end(end)
        COUNTS.made += 1
        start = end


WRITER = SpanWriter()


def write_request(timeline: Timeline, engine: str) -> None:
    """Queue one finished request of an engine."""
    WRITER.put(timeline, engine)
    background.every_tick(WRITER.drain)
    background.at_exit(WRITER.report)


def write_steps(found: Slice, engine: str, replica: str) -> None:
    """Write one slice of an engine's steps; call it off the engine's threads."""
    background.at_exit(WRITER.report)
    WRITER.packed_steps(found, engine, replica)
