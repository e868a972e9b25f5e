"""The span tree of a request, and what is not built."""

from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON
from opentelemetry.trace import SpanKind, StatusCode

from otel_attrib.instrumentation import background, spans
from otel_attrib.instrumentation.provider import COUNTS
from otel_attrib.instrumentation.recorder import Timeline
from otel_attrib.instrumentation.spans import SpanWriter
from otel_attrib.instrumentation.steps import StepLog

MS = 1_000_000
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


class Bench:
    """A writer whose spans stay in memory."""

    def __init__(self, sampler: Any = ALWAYS_ON) -> None:
        """Sample by `sampler`."""
        self.memory = InMemorySpanExporter()
        provider = TracerProvider(sampler=sampler, shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.memory))
        tracer = provider.get_tracer("test")
        self.writer = SpanWriter(requests=tracer, steps=tracer)

    @property
    def spans(self) -> Any:
        """What was finished, the SERVER spans first."""
        return sorted(self.memory.get_finished_spans(), key=lambda span: span.kind is not SpanKind.SERVER)


def request(**values: Any) -> Timeline:
    """A request that arrived at 0 (wall 10 s) with tokens at 20 and 30 ms, ended at 31 ms."""
    made = Timeline("chat", "/v1/chat/completions", [(b"traceparent", f"00-{TRACE}-{PARENT}-01".encode())])
    made.arrived, made.wall, made.ended, made.model, made.status_code = 0, 10_000 * MS, 31 * MS, "tiny", 200
    made.submitted = 5 * MS
    sequence = made.add("a", 3, False)
    assert sequence is not None
    sequence.took(20 * MS, 1)
    sequence.took(30 * MS, 1)
    for name, value in values.items():
        setattr(made, name, value)
    return made


@pytest.fixture(autouse=True)
def free_budget(monkeypatch: pytest.MonkeyPatch) -> background.Budget:
    """A budget of this test alone."""
    budget = background.Budget(0.0)
    monkeypatch.setattr(background, "BUDGET", budget)
    return budget


def test_the_tree() -> None:
    """One SERVER span under the caller's, in wall time; its children tile the time to the first token."""
    bench = Bench()
    bench.writer.put(request(), "vllm")
    bench.writer.drain()

    root, *children = bench.spans
    assert ("chat tiny", SpanKind.SERVER) == (root.name, root.kind)
    assert (int(TRACE, 16), int(PARENT, 16)) == (root.context.trace_id, root.parent.span_id)
    assert (10_000 * MS, 10_031 * MS) == (root.start_time, root.end_time)
    assert ["ingress", "outside"] == [child.name for child in children]
    assert {root.context.span_id} == {child.parent.span_id for child in children}
    assert [(10_000 * MS, 10_005 * MS), (10_005 * MS, 10_020 * MS)] == [
        (child.start_time, child.end_time) for child in children
    ]
    assert ["ingress", "outside"] == [child.attributes["slatag.processing_stage"] for child in children]


def test_stalls_are_events() -> None:
    """The worst gaps are events at the moment the late token came."""
    made = request()
    for gap in (10, 10, 200):
        made.sequences[0].took(made.sequences[0].stamps[-1] + gap * MS, 1)
    bench = Bench()
    bench.writer.put(made, "vllm")
    bench.writer.drain()

    (event,) = bench.spans[0].events
    assert "token_stall" == event.name
    assert {"slatag.token_index": 4, "slatag.gap_us": 200_000.0} == dict(event.attributes)
    assert 10_250 * MS == event.timestamp


@pytest.mark.parametrize(
    ("values", "status"),
    [
        ({}, StatusCode.UNSET),
        ({"status_code": 400}, StatusCode.ERROR),
        ({"error": "TimeoutError"}, StatusCode.ERROR),
        ({"disconnected": True}, StatusCode.UNSET),
    ],
    ids=["ok", "refused", "timed out", "client gone"],
)
def test_status(values: dict[str, Any], status: StatusCode) -> None:
    """A failure of the server or the request is an error; a client that hangs up is not."""
    bench = Bench()
    bench.writer.put(request(**values), "vllm")
    bench.writer.drain()

    assert status is bench.spans[0].status.status_code


def test_an_unsampled_request_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sampler is asked before anything is made of a request."""
    monkeypatch.setattr(spans, "attributes_of", lambda *_: pytest.fail("computed for nothing"))
    bench = Bench(ALWAYS_OFF)
    bench.writer.put(request(), "vllm")
    bench.writer.drain()

    assert [] == bench.spans


def test_no_child_spans_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """OTEL_ATTRIB_CHILD_SPANS=0 leaves the SERVER span alone."""
    monkeypatch.setenv("OTEL_ATTRIB_CHILD_SPANS", "0")
    bench = Bench()
    bench.writer.put(request(), "vllm")
    bench.writer.drain()

    assert ["chat tiny"] == [span.name for span in bench.spans]


@pytest.mark.parametrize(("level", "count"), [(0, 3), (1, 1), (2, 0)], ids=["all", "no children", "none"])
def test_past_the_budget_work_is_shed(free_budget: background.Budget, level: int, count: int) -> None:
    """Past its budget the shim drops child spans first, then spans, and counts them."""
    free_budget.level = level
    before = COUNTS.shed
    bench = Bench()
    bench.writer.put(request(), "vllm")
    bench.writer.drain()

    assert count == len(bench.spans)
    assert (1 if level == 2 else 0) == COUNTS.shed - before


def test_the_queue_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not fit is counted, and the server waits for nothing."""
    monkeypatch.setattr(spans, "MOST_QUEUED", 3)
    bench = Bench()
    for _ in range(5):
        bench.writer.put(request(), "vllm")

    assert (3, 2) == (len(bench.writer.queue), bench.writer.dropped)


def test_steps_are_one_span() -> None:
    """A slice of steps is one INTERNAL span without a parent, that knows engine and replica."""
    log = StepLog()
    log.append((1, 0, 5 * MS, 2, 0, 2, 0, 2, 0, 0, 0, -1, -1, -1, -1, 0))
    bench = Bench()
    for found in log.take():
        bench.writer.packed_steps(found, "vllm", "3")

    (span,) = bench.spans
    assert ("engine_steps", SpanKind.INTERNAL, None) == (span.name, span.kind, span.parent)
    assert 5 * MS == span.end_time - span.start_time
    assert ("vllm", "3", 1) == tuple(
        span.attributes[name] for name in ("slatag.engine", "slatag.replica", "slatag.steps.count")
    )


def test_a_broken_traceparent_starts_a_trace() -> None:
    """A caller's header that cannot be read does not lose the request."""
    bench = Bench()
    bench.writer.put(request(headers=[(b"traceparent", b"\xff nonsense")]), "vllm")
    bench.writer.drain()

    assert bench.spans[0].parent is None
