"""Rows of `requests` out of our own spans, vLLM's and SGLang's."""

import base64
import struct
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_attrib.schema.attributes import SKETCH_GROWTH, STAGES, decode_attribute, stage_attribute
from otel_attrib.schema.ingest import insert_traces
from otel_attrib.schema.store import Store

Spans = Callable[..., bytes]

STAGE_US = dict(zip(STAGES, (100.0, 200.0, 3000.0, 40.0, 5000.0, 60.0, 70.0, 8.5), strict=True))
TTFT_US = sum(STAGE_US.values())
FULL: dict[str, Any] = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "vllm",
    "gen_ai.request.model": "tiny",
    "gen_ai.response.id": "chatcmpl-1",
    "gen_ai.request.stream": True,
    "gen_ai.usage.input_tokens": 120,
    "gen_ai.usage.output_tokens": 5,
    "gen_ai.usage.cache_read.input_tokens": 0,
    "gen_ai.response.finish_reasons": ["length"],
    "error.type": "",
    "slatag.engine": "vllm",
    "slatag.engine_version": "0.32.0",
    "slatag.replica": "1",
    "slatag.gpu_set": "n0:0,1",
    "slatag.tenant": "acme",
    "slatag.sla_class": "gold",
    "slatag.sla_deadline_ms": 500.0,
    "slatag.stream_id": "s-7",
    "slatag.partition_id": "3",
    "slatag.operator_id": "op",
    "slatag.parallelism": 4,
    "slatag.status": "ok",
    "slatag.processing_stage": "egress",
    "slatag.first_byte_latency_us": TTFT_US,
    **{stage_attribute(stage): us for stage, us in STAGE_US.items()},
    decode_attribute("batch_wait"): 1.0,
    decode_attribute("forward"): 2.0,
    decode_attribute("sample"): 3.0,
    decode_attribute("egress"): 4.0,
    "slatag.tpot_us": 1000.0,
    "slatag.e2e_us": TTFT_US + 4000.0,
    "slatag.token_gap.count": 4,
    "slatag.token_gap.mean_us": 1000.0,
    "slatag.token_gap.p50_us": 900.0,
    "slatag.token_gap.p99_us": 1300.0,
    "slatag.token_gap.max_us": 1301.0,
    "slatag.token_gap.sketch": "344:3 363:1",
    "slatag.preemptions": 0,
    "slatag.prefill_chunks": 2,
    "slatag.step.first": 10,
    "slatag.step.last": 15,
    "slatag.batch_size_mean": 2.5,
    "slatag.kv_usage_max": 0.25,
    "slatag.waiting_max": 6,
}
RESOURCE = {"service.name": "svc", "service.version": "v2", "host.name": "n0"}
ROW: dict[str, Any] = {
    "time": datetime(2026, 1, 1, 12, tzinfo=UTC),
    "trace_id": f"{1:032x}",
    "span_id": f"{1:016x}",
    "request_id": "chatcmpl-1",
    "service": "svc",
    "node": "n0",
    "gpu_set": "n0:0,1",
    "engine": "vllm",
    "engine_version": "0.32.0",
    "model": "tiny",
    "version": "v2",
    "replica": "1",
    "tenant": "acme",
    "sla_class": "gold",
    "stream_id": "s-7",
    "partition_id": "3",
    "operator_id": "op",
    "parallelism": "4",
    "operation": "chat",
    "stream": True,
    "source": "otel_attrib",
    "status": "ok",
    "finish_reason": "length",
    "error_type": "",
    "prompt_tokens": 120,
    "cached_tokens": 0,
    "output_tokens": 5,
    "sla_deadline_ms": 500.0,
    "ttft_us": TTFT_US,
    "tpot_us": 1000.0,
    "e2e_us": TTFT_US + 4000.0,
    **{f"{stage}_us": us for stage, us in STAGE_US.items()},
    "decode_batch_wait_us": 1.0,
    "decode_forward_us": 2.0,
    "decode_sample_us": 3.0,
    "decode_egress_us": 4.0,
    "gap_count": 4,
    "gap_mean_us": 1000.0,
    "gap_p50_us": 900.0,
    "gap_p99_us": 1300.0,
    "gap_max_us": 1301.0,
    "preemptions": 0,
    "prefill_chunks": 2,
    "first_step": 10,
    "last_step": 15,
    "batch_size_mean": 2.5,
    "kv_usage_max": 0.25,
    "waiting_max": 6,
    "weight": 1,
}


def only(store: Store) -> dict[str, Any]:
    """The only request there is."""
    (row,) = store.rows("SELECT * FROM requests")
    return row


def test_every_column(store: Store, spans: Spans) -> None:
    """A full span of ours fills every column; gaps are the sketch's buckets, each within 1 %."""
    insert_traces(store, [spans(FULL, resource=RESOURCE)], token="t")

    row = only(store)
    gaps = row.pop("gaps_us")
    assert ROW == row
    assert pytest.approx(
        [2 * SKETCH_GROWTH**bucket / (SKETCH_GROWTH + 1) for bucket in (344, 344, 344, 363)], rel=1e-6
    ) == list(gaps)


def test_nothing_known(store: Store, spans: Spans) -> None:
    """A span that says nothing is a request all the same: NULL where not observed, '' for dimensions."""
    insert_traces(store, [spans({}, resource={"service.name": "svc"})], token="t")

    row = only(store)
    absent = {key for key, value in row.items() if value is None}
    assert {key for key in row if key.endswith("_us") and key != "gaps_us"} <= absent
    assert {"cached_tokens", "preemptions", "first_step", "waiting_max", "sla_deadline_ms"} <= absent
    assert ("ok", "otel_attrib", "", "", 0) == (
        row["status"],
        row["source"],
        row["tenant"],
        row["node"],
        row["output_tokens"],
    )


def test_only_request_spans_are_requests(store: Store, spans: Spans) -> None:
    """Stage spans of ours, and spans of others, are none."""
    insert_traces(
        store,
        [
            spans(FULL, kind=1),
            spans(FULL, scope="other"),
            spans({}, scope="sglang server", kind=1, name="Req x"),
        ],
        token="t",
    )

    assert [] == store.rows("SELECT * FROM requests")


@pytest.mark.parametrize(
    ("span", "resource", "expected"),
    [
        ({"slatag.tenant": "a", "tenant": "b"}, {"slatag.tenant": "c"}, "a"),
        ({"tenant": "b"}, {"tenant": "d"}, "b"),
        ({"slatag.tenant": ""}, {"slatag.tenant": "c"}, ""),
        ({}, {"slatag.tenant": "c", "tenant": "d"}, "c"),
        ({}, {"tenant": "d"}, "d"),
    ],
    ids=["prefixed", "plain", "given empty", "resource", "plain resource"],
)
def test_where_a_dimension_comes_from(
    store: Store, spans: Spans, span: dict[str, str], resource: dict[str, str], expected: str
) -> None:
    """With the prefix before without, a span's before its resource's."""
    insert_traces(store, [spans(span, resource={"service.name": "s", **resource})], token="t")

    assert expected == only(store)["tenant"]


@pytest.mark.parametrize(
    "name", ["slatag.operator_id", "operator_id", "slatag.flink_operator_id", "flink_operator_id"]
)
def test_names_of_an_operator(store: Store, spans: Spans, name: str) -> None:
    """An operator is known by Flink's name as well."""
    insert_traces(store, [spans({name: "map-1"})], token="t")

    assert "map-1" == only(store)["operator_id"]


def test_a_recorded_series_comes_before_its_sketch(store: Store, spans: Spans) -> None:
    """With the token timeline on, every gap is there as it was, in order."""
    series = (900, 1300, 70_000, 1)
    packed = base64.b64encode(struct.pack("<4I", *series)).decode()
    insert_traces(store, [spans({**FULL, "slatag.token_timeline": packed})], token="t")

    assert list(series) == list(only(store)["gaps_us"])


def test_outside_is_what_is_left(store: Store, spans: Spans) -> None:
    """Where `outside` is not given, it is TTFT less the stages that are, and never negative."""
    known = {"slatag.first_byte_latency_us": 1000.0, "slatag.stage.queue_us": 300.0}
    insert_traces(store, [spans(known, {**known, "slatag.stage.prefill_us": 900.0})], token="t")

    rows = store.rows("SELECT outside_us, prefill_us FROM requests ORDER BY time")
    assert [(700.0, None), (0.0, 900.0)] == [(row["outside_us"], row["prefill_us"]) for row in rows]


@pytest.mark.parametrize(
    ("attributes", "status", "expected"),
    [
        ({"slatag.status": "aborted"}, 0, "aborted"),
        ({"slatag.status": "timeout"}, 2, "timeout"),
        ({"slatag.status": "strange"}, 0, "ok"),
        ({}, 2, "error"),
    ],
    ids=["aborted", "timeout", "unknown word", "by status code"],
)
def test_status(store: Store, spans: Spans, attributes: dict[str, str], status: int, expected: str) -> None:
    """A status is one of four words."""
    insert_traces(store, [spans(attributes, status=status)], token="t")

    assert expected == only(store)["status"]


def test_vllm_alone(store: Store, captures: tuple[bytes, ...]) -> None:
    """vLLM's own span of each request gives its times; what it does not know is NULL or in `outside`."""
    native = [span for span in all_spans(captures) if span.name == "llm_request"]
    insert_traces(store, captures, token="t")

    rows = {row["span_id"]: row for row in store.rows("SELECT * FROM requests WHERE source = 'vllm'")}
    assert {span.span_id.hex() for span in native} == set(rows)
    for span in native:
        row = rows[span.span_id.hex()]
        given = {pair.key: pair.value for pair in span.attributes}
        ttft_us = given["gen_ai.latency.time_to_first_token"].double_value * 1e6
        queue_us = given["gen_ai.latency.time_in_queue"].double_value * 1e6
        prefill_us = given["gen_ai.latency.time_in_model_prefill"].double_value * 1e6
        assert pytest.approx(
            (ttft_us, queue_us, prefill_us, ttft_us - queue_us - prefill_us), rel=1e-9, abs=1e-6
        ) == (row["ttft_us"], row["queue_us"], row["prefill_us"], row["outside_us"])
        assert (
            given["gen_ai.request.id"].string_value,
            given["gen_ai.usage.prompt_tokens"].int_value,
            given["gen_ai.usage.completion_tokens"].int_value,
        ) == (row["request_id"], row["prompt_tokens"], row["output_tokens"])
        assert ("vllm", "ok", None, None, None) == (
            row["engine"],
            row["status"],
            row["tokenize_us"],
            row["kv_init_us"],
            row["cached_tokens"],
        )


def test_time_per_token_of_an_engine_that_gives_its_decode_time(store: Store, spans: Spans) -> None:
    """TPOT is the decode time over the tokens after the first; one token has none."""
    native = {"gen_ai.latency.e2e": 1.0, "gen_ai.latency.time_in_model_decode": 0.8}
    insert_traces(
        store,
        [
            spans(
                {**native, "gen_ai.usage.completion_tokens": 5},
                {**native, "gen_ai.usage.completion_tokens": 1},
                scope="vllm.tracing.otel",
                name="llm_request",
            )
        ],
        token="t",
    )

    rows = store.rows("SELECT tpot_us FROM requests ORDER BY time")
    assert [200_000.0, None] == [row["tpot_us"] for row in rows]


def test_sglang_alone(store: Store, captures: tuple[bytes, ...]) -> None:
    """SGLang's root spans are requests, its health checks are not, and one cut short is aborted."""
    roots = [
        span
        for span in all_spans(captures)
        if any(
            pair.key == "module" and pair.value.string_value == "sglang::request" for pair in span.attributes
        )
    ]
    checks = [span for span in roots if b"HEALTH_CHECK_" in span.SerializeToString()]
    cut = [span for span in roots if b"time_to_first_token" not in span.SerializeToString()]
    insert_traces(store, captures, token="t")

    rows = store.rows("SELECT * FROM requests WHERE source = 'sglang'")
    assert 0 < len(checks) and 0 < len(cut)
    assert len(roots) - len(checks) == len(rows)
    assert {span.span_id.hex() for span in cut} == {
        row["span_id"] for row in rows if row["status"] == "aborted" and row["outside_us"] is None
    }
    assert {("tiny", "sglang")} == {(row["model"], row["engine"]) for row in rows if row["status"] == "ok"}


def test_a_request_counts_once(store: Store, spans: Spans) -> None:
    """An engine whose requests our shim reports bears its mark, and its own spans of them are passed over."""
    native = {"gen_ai.request.id": "r1", "gen_ai.latency.e2e": 1.0}
    marked = {"service.name": "svc", "slatag.shim": "0.1.0"}
    vllm = {"scope": "vllm.tracing.otel", "name": "llm_request"}
    sglang = {"scope": "sglang server", "name": " Req r1", "kind": 1}
    bodies = [
        spans(FULL, resource=marked),
        spans(native, resource=marked, **vllm),
        spans(native, resource=marked, **sglang),
    ]
    insert_traces(store, bodies, token="t")

    assert [{"source": "otel_attrib", "request_id": "chatcmpl-1"}] == store.rows(
        "SELECT source, request_id FROM requests"
    )


def test_imported(store: Store, spans: Spans) -> None:
    """A row out of a file says so."""
    insert_traces(store, [spans({**FULL, "slatag.source": "import"})], token="t")

    assert "import" == only(store)["source"]


HOSTILE = [
    "",
    "nan",
    "-inf",
    "1e400",
    "-1",
    "x",
    "9" * 40,
    "é\x00",
    "[",
    '["',
    ":",
    "1:2:3",
    "1:99999999999",
    " : ",
]


@pytest.mark.parametrize("value", HOSTILE)
def test_no_attribute_can_refuse_a_block(store: Store, spans: Spans, value: str) -> None:
    """Whatever an attribute holds, its span is stored and is a request; nonsense counts as not observed."""
    insert_traces(store, [spans(dict.fromkeys(FULL, value)), spans(FULL)], token="t")

    assert [{"n": 2}] == store.rows("SELECT count() AS n FROM otel_traces")
    (odd,) = store.rows("SELECT * FROM requests WHERE request_id != 'chatcmpl-1'")
    assert None is odd["ttft_us"]
    assert len(odd["gaps_us"]) < 10


def test_a_sketch_cannot_fill_the_memory(store: Store, spans: Spans) -> None:
    """Of counts above 65,536 every n-th gap is kept, so the buckets keep their shares."""
    insert_traces(store, [spans({"slatag.token_gap.sketch": "10:3000000000 11:1000000000"})], token="t")

    sql = "SELECT length(gaps_us) AS kept, arrayCount(gap -> gap > 1.23, gaps_us) AS upper FROM requests"
    assert [(65_535, 16_384)] == [(row["kept"], row["upper"]) for row in store.rows(sql)]


@pytest.mark.parametrize(("claimed", "kept"), [(6, 6), (7, 0), (1_000_000, 0)])
def test_a_sketch_of_more_gaps_than_tokens(store: Store, spans: Spans, claimed: int, kept: int) -> None:
    """A sketch is not believed where it claims more gaps than the output has tokens, and one to spare."""
    given = {"gen_ai.usage.output_tokens": 5, "slatag.token_gap.sketch": f"500:{claimed}"}
    insert_traces(store, [spans(given)], token="t")

    assert kept == len(only(store)["gaps_us"])


def all_spans(bodies: tuple[bytes, ...]) -> list[Any]:
    """Every span of the bodies."""
    messages = map(ExportTraceServiceRequest.FromString, bodies)
    return [span for m in messages for part in m.resource_spans for s in part.scope_spans for span in s.spans]
