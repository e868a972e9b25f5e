"""Export requests as a busy server sends them: one request span and its stages, real attribute names.

Two shapes: `shim` is what our shim emits (a wide request span, narrow stage spans, 294 B a span);
`wide` gives every span 25 attributes (about 900 B a span), the shape of a heavily annotated service.
"""

import random
from collections.abc import Iterator

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from otel_attrib.schema.attributes import DECODE_STAGES, REQUEST_SCOPE, STAGES

__all__ = ["REQUESTS_EACH", "SPANS_EACH", "exports"]

REQUESTS_EACH = 56
SPANS_EACH = REQUESTS_EACH * (1 + len(STAGES))
START_NS = 1_790_000_000_000_000_000


def exports(
    count: int, shape: str, seed: int = 0, start_ns: int = START_NS, every_ns: int = 400_000_000
) -> Iterator[bytes]:
    """`count` serialized export requests of `SPANS_EACH` spans, never two alike, one begun `every_ns`."""
    chance = random.Random(seed)
    for number in range(count):
        scope = ScopeSpans(spans=list(_spans(chance, shape, start_ns + number * every_ns)))
        scope.scope.name = REQUEST_SCOPE
        scope.scope.version = "0.1.0"
        resource = ResourceSpans(scope_spans=[scope])
        resource.resource.attributes.extend(_pairs(_resource(number % 4)))
        yield ExportTraceServiceRequest(resource_spans=[resource]).SerializeToString()


def _spans(chance: random.Random, shape: str, start_ns: int) -> Iterator[Span]:
    for index in range(REQUESTS_EACH):
        yield from _request(chance, shape, start_ns + index * 7_000_000)


def _request(chance: random.Random, shape: str, start_ns: int) -> Iterator[Span]:
    stages = {stage: chance.lognormvariate(8.0, 0.8) for stage in STAGES}
    trace, root = chance.randbytes(16), chance.randbytes(8)
    ttft_us, tokens = sum(stages.values()), chance.randint(16, 400)
    end_ns = start_ns + int(1000 * (ttft_us + tokens * 12_000))
    yield Span(
        trace_id=trace,
        span_id=root,
        name="chat llama-3.1-8b",
        kind=Span.SPAN_KIND_SERVER,
        start_time_unix_nano=start_ns,
        end_time_unix_nano=end_ns,
        attributes=_pairs(_attributes(chance, stages, ttft_us, tokens)),
        events=[
            Span.Event(
                name="token_stall",
                time_unix_nano=end_ns,
                attributes=_pairs({"slatag.token_index": 7, "slatag.gap_us": 48_000}),
            )
        ],
    )
    for stage, duration_us in stages.items():
        stop_ns = start_ns + int(duration_us * 1000)
        extra = _annotations(chance) if shape == "wide" else {}
        attributes = _pairs({"slatag.processing_stage": stage, **extra})
        yield Span(
            trace_id=trace,
            span_id=chance.randbytes(8),
            parent_span_id=root,
            name=stage,
            kind=Span.SPAN_KIND_INTERNAL,
            start_time_unix_nano=start_ns,
            end_time_unix_nano=stop_ns,
            attributes=attributes,
        )
        start_ns = stop_ns


def _attributes(
    chance: random.Random, stages: dict[str, float], ttft_us: float, tokens: int
) -> dict[str, str | int | float | bool]:
    sketch = " ".join(f"{index}:{chance.randint(1, 9)}" for index in range(440, 470))
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "vllm",
        "gen_ai.request.model": "llama-3.1-8b",
        "gen_ai.response.id": f"chatcmpl-{chance.randbytes(12).hex()}",
        "gen_ai.request.stream": True,
        "gen_ai.usage.input_tokens": chance.randint(20, 4000),
        "gen_ai.usage.output_tokens": tokens,
        "gen_ai.usage.cache_read.input_tokens": 128 * chance.randint(0, 4),
        "gen_ai.response.time_to_first_chunk": ttft_us / 1e6,
        "http.route": "/v1/chat/completions",
        "http.response.status_code": 200,
        "slatag.engine": "vllm",
        "slatag.engine_version": "0.32.0",
        "slatag.replica": str(chance.randint(0, 3)),
        "slatag.tenant": f"tenant-{chance.randint(0, 9)}",
        "slatag.sla_class": chance.choice(("gold", "silver", "bronze")),
        "slatag.status": "ok",
        "slatag.processing_stage": "egress",
        "slatag.first_byte_latency_us": int(ttft_us),
        "slatag.tpot_us": 12_000.0,
        "slatag.e2e_us": ttft_us + tokens * 12_000,
        "slatag.token_gap.count": tokens - 1,
        "slatag.token_gap.p99_us": 30_000.0,
        "slatag.token_gap.max_us": 48_000.0,
        "slatag.token_gap.sketch": sketch,
        "slatag.preemptions": 0,
        "slatag.step.first": 1000,
        "slatag.step.last": 1000 + tokens,
        "slatag.batch_size_mean": 22.5,
        "slatag.kv_usage_max": 0.61,
        **{f"slatag.stage.{stage}_us": value for stage, value in stages.items()},
        **{f"slatag.decode.{stage}_us": 3_000.0 for stage in DECODE_STAGES},
    }


def _annotations(chance: random.Random) -> dict[str, str | int | float | bool]:
    texts = {f"app.label_{index}": f"value-{chance.randint(0, 99):02d}" for index in range(12)}
    numbers = {f"app.number_{index}": chance.random() for index in range(12)}
    return {**texts, **numbers}


def _resource(node: int) -> dict[str, str | int | float | bool]:
    return {
        "service.name": "chat-prod",
        "service.version": "2026.11.3",
        "service.instance.id": f"pod-{node}",
        "host.name": f"node-{node}",
        "process.pid": 4242,
        "telemetry.sdk.language": "python",
        "telemetry.sdk.name": "opentelemetry",
        "telemetry.sdk.version": "1.45.2",
        "k8s.namespace.name": "inference",
        "k8s.pod.name": f"chat-prod-{node}",
    }


def _pairs(values: dict[str, str | int | float | bool]) -> list[KeyValue]:
    return [KeyValue(key=key, value=_value(value)) for key, value in values.items()]


def _value(value: str | int | float | bool) -> AnyValue:
    match value:
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case _:
            return AnyValue(string_value=value)
