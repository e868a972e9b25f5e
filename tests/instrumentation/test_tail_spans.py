"""Tail sampling in the span writer: whole trees or nothing, and the totals that are sent."""

from typing import Any

import pytest
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON

from otel_attrib.instrumentation import background, spans
from otel_attrib.instrumentation.recorder import Timeline
from otel_attrib.instrumentation.sampling.metrics import TailMetrics
from otel_attrib.instrumentation.sampling.rules import TailRules
from otel_attrib.instrumentation.sampling.tail import TailSampler
from otel_attrib.instrumentation.spans import SpanWriter

MS = 1_000_000
LOST, KEPT = "00000000000000010000000000000000", "0000000000000001ffffffffffffffff"


@pytest.fixture(autouse=True)
def free_budget(monkeypatch: pytest.MonkeyPatch) -> background.Budget:
    """A budget of this test alone."""
    budget = background.Budget(0.0)
    monkeypatch.setattr(background, "BUDGET", budget)
    monkeypatch.setattr(background, "due", lambda _owner, _seconds: True)
    return budget


def writer(sampler: Any = ALWAYS_ON) -> tuple[SpanWriter, InMemorySpanExporter]:
    """A writer that keeps a tenth of the rest, with its spans in memory."""
    memory = InMemorySpanExporter()
    provider = TracerProvider(sampler=sampler, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    tracer = provider.get_tracer("test")
    tail = TailSampler(TailRules(0.1, {}, quantile=0.0, trickle_s=0.0))
    return SpanWriter(requests=tracer, steps=tracer, tail=tail), memory


def request(trace: str, status: int = 200) -> Timeline:
    """A request of a trace, with one token."""
    made = Timeline("chat", "/v1/chat/completions", [(b"traceparent", f"00-{trace}-{1:016x}-01".encode())])
    made.arrived, made.wall, made.ended, made.model, made.status_code = (
        0,
        10_000 * MS,
        31 * MS,
        "tiny",
        status,
    )
    sequence = made.add("a", 3, False)
    assert sequence is not None
    sequence.took(20 * MS, 1)
    return made


def test_whole_trees_or_nothing() -> None:
    """Of three one is dropped with all its spans; the kept say why, and the one of the rest its weight."""
    bench, memory = writer()
    for trace, status in ((LOST, 200), (KEPT, 200), (LOST, 503)):
        bench.put(request(trace, status), "vllm")
    bench.drain()

    roots = [span for span in memory.get_finished_spans() if span.name == "chat tiny"]
    said = [{k: v for k, v in (s.attributes or {}).items() if "sample." in k} for s in roots]
    assert [
        {"slatag.sample.reason": "rest", "slatag.sample.weight": pytest.approx(10)},
        {"slatag.sample.reason": "failed"},
    ] == said
    assert {span.context.span_id for span in roots} == {
        span.parent.span_id
        for span in memory.get_finished_spans()
        if span.name != "chat tiny" and span.parent
    }


def totals(reader: InMemoryMetricReader) -> dict[str, dict[str, int]]:
    """Each total by reason, as a receiver gets it."""
    data = reader.get_metrics_data()
    assert data is not None
    metrics = data.resource_metrics[0].scope_metrics[0].metrics
    return {
        metric.name: {
            str((point.attributes or {})["slatag.sample.reason"]): int(point.value)  # type: ignore[union-attr]
            for point in metric.data.data_points
        }
        for metric in metrics
    }


def test_totals_add_up(monkeypatch: pytest.MonkeyPatch, free_budget: background.Budget) -> None:
    """What was kept and what was dropped, by reason, add up to all requests that ended."""
    monkeypatch.setattr(spans, "MOST_QUEUED", 4)
    bench, _ = writer()
    assert bench.tail is not None
    for trace in (LOST, KEPT, LOST, LOST, KEPT, KEPT):
        bench.put(request(trace), "vllm")
    bench.drain()
    free_budget.level = 2
    bench.put(request(KEPT), "vllm")
    bench.drain()

    reader = InMemoryMetricReader()
    TailMetrics(bench.tail, "svc", lambda: reader).tick()

    assert {
        "slatag.requests.kept": {"rest": 1},
        "slatag.requests.dropped": {"sampled": 3, "queue": 2, "budget": 1},
    } == totals(reader)


def test_what_the_sampler_before_left_out_is_told() -> None:
    """A request that the SDK's own sampler refused is counted, and no choice is made."""
    bench, memory = writer(ALWAYS_OFF)
    bench.put(request(KEPT), "vllm")
    bench.drain()

    assert bench.tail is not None
    assert ({}, {"head": 1}, ()) == (bench.tail.kept, bench.tail.dropped, memory.get_finished_spans())


def test_off_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the setting nothing is chosen, no reason is said and no total is sent."""
    monkeypatch.setattr(spans, "tracer", lambda *_args, **_words: writer()[0].requests)
    bench = SpanWriter()
    bench.put(request(LOST), "vllm")
    bench.drain()

    assert bench.tail is None
