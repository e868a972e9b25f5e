"""Requests as OTLP: one SERVER span each, with ids made from what the row says.

The same row gives the same trace and span id on every import, and identical rows of one table are
told apart by their count, so a file imported twice holds the same spans twice.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from otel_attrib import __version__
from otel_attrib.collector.imports.request import Request
from otel_attrib.schema import attributes as names

__all__ = ["ImportedSpan", "export_request", "in_batches", "spans"]

_TEXTS = {
    "request_id": names.GEN_AI_RESPONSE_ID,
    "engine": names.ENGINE,
    "engine_version": names.ENGINE_VERSION,
    "gpu_set": names.GPU_SET,
    "model": names.GEN_AI_REQUEST_MODEL,
    "replica": names.REPLICA,
    "tenant": names.TENANT,
    "sla_class": names.SLA_CLASS,
    "stream_id": names.STREAM_ID,
    "partition_id": names.PARTITION_ID,
    "operator_id": names.OPERATOR_ID,
    "parallelism": names.PARALLELISM,
    "operation": names.GEN_AI_OPERATION_NAME,
    "error_type": names.ERROR_TYPE,
}
_COUNTS = {
    "prompt_tokens": names.GEN_AI_USAGE_INPUT_TOKENS,
    "cached_tokens": names.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS,
    "output_tokens": names.GEN_AI_USAGE_OUTPUT_TOKENS,
    "preemptions": names.PREEMPTIONS,
}
_RESOURCE = {"service": names.SERVICE_NAME, "version": names.SERVICE_VERSION, "node": names.HOST_NAME}
_SERVICE = "import"


@dataclass(frozen=True, slots=True)
class ImportedSpan:
    """A request as a span, with what its resource says."""

    request: Request
    resource: tuple[tuple[str, str], ...]
    span: Span


def spans(requests: Iterable[Request]) -> Iterator[ImportedSpan]:
    """One span a request."""
    seen: Counter[bytes] = Counter()
    for request in requests:
        content = _digest(request)
        seen[content[:16]] += 1
        identity = hashlib.sha256(content + seen[content[:16]].to_bytes(8, "big")).digest()
        yield ImportedSpan(request, _resource(request), _span(request, identity))


def in_batches(found: Iterable[ImportedSpan], size: int) -> Iterator[list[ImportedSpan]]:
    """Cut the spans into lists of `size`."""
    rest = iter(found)
    while batch := list(islice(rest, size)):
        yield batch


def export_request(batch: Sequence[ImportedSpan]) -> bytes:
    """One serialized ExportTraceServiceRequest; spans of one resource stand together."""
    message = ExportTraceServiceRequest()
    for resource in dict.fromkeys(item.resource for item in batch):
        of_resource = message.resource_spans.add()
        of_resource.resource.attributes.extend(_value(key, text) for key, text in resource)
        of_scope = of_resource.scope_spans.add()
        of_scope.scope.name, of_scope.scope.version = names.REQUEST_SCOPE, __version__
        of_scope.spans.extend(item.span for item in batch if item.resource == resource)
    return message.SerializeToString(deterministic=True)


def _digest(request: Request) -> bytes:
    said = [
        sorted(request.texts.items()),
        # How many requests it stands for says nothing of the request: files from before keep their ids.
        sorted(item for item in request.counts.items() if item[0] != "weight"),
        sorted(request.at.items()),
        *([sorted(request.given.items())] if request.given else []),
        request.status,
        request.measured_from,
    ]
    return hashlib.sha256(json.dumps(said).encode()).digest()


def _resource(request: Request) -> tuple[tuple[str, str], ...]:
    texts = {"service": _SERVICE, **request.texts}
    return tuple((key, texts[name]) for name, key in _RESOURCE.items() if name in texts)


def _span(request: Request, identity: bytes) -> Span:
    texts, took = request.texts, request.took
    last = request.start_ns + round((took.e2e_us or took.ttft_us or sum(took.stages.values())) * 1e3)
    return Span(
        trace_id=bytes.fromhex(texts["trace_id"]) if "trace_id" in texts else identity[:16],
        span_id=identity[16:24],
        name=f"{texts.get('operation', 'request')} {texts.get('model', '')}".strip(),
        kind=Span.SPAN_KIND_SERVER,
        start_time_unix_nano=request.start_ns,
        end_time_unix_nano=last,
        attributes=list(_attributes(request)),
        status=Status(
            code=Status.STATUS_CODE_ERROR if request.status == "error" else Status.STATUS_CODE_UNSET
        ),
    )


def _attributes(request: Request) -> Iterator[KeyValue]:
    texts, counts, took = request.texts, request.counts, request.took
    yield _value(names.SOURCE, "import")
    yield _value(names.STATUS, request.status)
    if took.last_stage:
        yield _value(names.PROCESSING_STAGE, took.last_stage)
    yield from (_value(key, texts[name]) for name, key in _TEXTS.items() if name in texts)
    yield from (_value(key, int(counts[name])) for name, key in _COUNTS.items() if name in counts)
    if "finish_reason" in texts:
        reasons = ArrayValue(values=[AnyValue(string_value=texts["finish_reason"])])
        yield KeyValue(key=names.GEN_AI_RESPONSE_FINISH_REASONS, value=AnyValue(array_value=reasons))
    if "weight" in counts:
        yield _value(names.SAMPLE_WEIGHT, counts["weight"])
    if "sla_deadline_ms" in counts:
        yield _value(names.SLA_DEADLINE_MS, counts["sla_deadline_ms"])
    yield from _times(request)


def _times(request: Request) -> Iterator[KeyValue]:
    took = request.took
    known = {
        names.FIRST_BYTE_LATENCY_US: took.ttft_us,
        names.E2E_US: took.e2e_us,
        names.TPOT_US: took.tpot_us,
    }
    known |= {names.stage_attribute(stage): us for stage, us in took.stages.items()}
    known |= {names.decode_attribute(stage): us for stage, us in took.decode.items()}
    yield from (_value(key, us) for key, us in known.items() if us is not None)
    if took.ttft_us is not None and request.measured_from == "arrival":
        yield _value(names.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK, took.ttft_us / 1e6)
    if request.measured_from == "queued" and (took.ttft_us is not None or took.e2e_us is not None):
        yield _value(names.MEASURED_FROM, "queued")


def _value(key: str, value: str | int | float) -> KeyValue:
    if isinstance(value, str):
        return KeyValue(key=key, value=AnyValue(string_value=value))
    if isinstance(value, int):
        return KeyValue(key=key, value=AnyValue(int_value=value))
    return KeyValue(key=key, value=AnyValue(double_value=value))
