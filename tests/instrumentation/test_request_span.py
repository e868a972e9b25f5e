"""From a timeline to the attributes of its span."""

import base64
import struct
from typing import Any

import pytest

from otel_attrib.instrumentation.facts import First, Last
from otel_attrib.instrumentation.recorder import Timeline
from otel_attrib.instrumentation.request_span import _clock, attributes_of, outcome, stage_reached, stages_of
from otel_attrib.schema.attributes import ATTRIBUTES

MS = 1_000_000


def timeline(**values: Any) -> Timeline:
    """A finished chat request that arrived at 0 and ended after 100 ms."""
    made = Timeline("chat", "/v1/chat/completions", ())
    made.arrived, made.ended, made.status_code, made.model = 0, 100 * MS, 200, "tiny"
    for name, value in values.items():
        setattr(made, name, value)
    return made


def served(made: Timeline, *stamps_ms: int, reason: str = "stop", prompt: int = 9) -> Timeline:
    """Give a request a sequence whose tokens were delivered at these times."""
    made.submitted = 4 * MS
    sequence = made.add("engine-id", prompt, False)
    assert sequence is not None
    for stamp in stamps_ms:
        sequence.took(stamp * MS, 1)
    sequence.finish(made.ended, reason)
    sequence.cached = 3
    first = First(_clock(), 2, 5 * MS, 18 * MS, MS // 2, 8 * MS, MS, 2, 41, 1, 6, 500_000)
    last = Last(90 * MS, 20 * MS, 4 * MS, 2 * MS, 44, 12, 4, 3, 7, 750_000)
    sequence.first, sequence.last = first, last
    return made


def test_a_whole_request() -> None:
    """Every attribute of a streamed chat, with values that one can count."""
    made = served(timeline(stream=True, max_tokens=16, external_id="chatcmpl-1"), 20, 40, 50, 92)
    made.tokenize_start, made.tokenize_end = 1 * MS, 3 * MS

    found = attributes_of(made, "vllm", "0.32.0")

    expected = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "vllm",
        "gen_ai.request.model": "tiny",
        "gen_ai.response.id": "chatcmpl-1",
        "gen_ai.request.stream": True,
        "gen_ai.request.max_tokens": 16,
        "gen_ai.usage.input_tokens": 9,
        "gen_ai.usage.output_tokens": 4,
        "gen_ai.usage.cache_read.input_tokens": 3,
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.response.time_to_first_chunk": 0.02,
        "http.route": "/v1/chat/completions",
        "http.response.status_code": 200,
        "slatag.engine": "vllm",
        "slatag.engine_version": "0.32.0",
        "slatag.replica": "2",
        "slatag.status": "ok",
        "slatag.processing_stage": "egress",
        "slatag.first_byte_latency_us": 20_000.0,
        "slatag.stage.ingress_us": 3_000.0,
        "slatag.stage.tokenize_us": 2_000.0,
        "slatag.stage.queue_us": 3_500.0,
        "slatag.stage.kv_init_us": 500.0,
        "slatag.stage.prefill_us": 8_000.0,
        "slatag.stage.sample_us": 1_000.0,
        "slatag.stage.egress_us": 2_000.0,
        "slatag.stage.outside_us": 0.0,
        "slatag.e2e_us": 100_000.0,
        "slatag.tpot_us": 24_000.0,
        "slatag.token_gap.count": 3,
        "slatag.token_gap.mean_us": 24_000.0,
        "slatag.token_gap.p50_us": 20_000.0,
        "slatag.token_gap.max_us": 42_000.0,
        "slatag.preemptions": 3,
        "slatag.prefill_chunks": 2,
        "slatag.step.first": 41,
        "slatag.step.last": 44,
        "slatag.batch_size_mean": 3.0,
        "slatag.kv_usage_max": 0.75,
        "slatag.waiting_max": 7,
        # 72 ms over 3 tokens: 20 forward, 4 sample, 2 egress (no drift), 46 the rest
        "slatag.decode.forward_us": pytest.approx(20_000 / 3),
        "slatag.decode.sample_us": pytest.approx(4_000 / 3),
        "slatag.decode.egress_us": pytest.approx(2_000 / 3),
        "slatag.decode.batch_wait_us": pytest.approx(46_000 / 3),
    }
    assert expected == {name: found[name] for name in expected}
    assert {"slatag.token_gap.p99_us", "slatag.token_gap.sketch"} == set(found) - set(expected)


def test_every_name_is_in_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """No attribute is written that the registry does not know, and each has the registry's type."""
    monkeypatch.setenv("OTEL_ATTRIB_TOKEN_TIMELINE", "1")
    python = {"string": str, "int": int, "double": float, "bool": bool, "string[]": list}
    known = {one.name: python[one.type] for one in ATTRIBUTES if one.where == "span"}
    headers = [(b"x-tenant-id", b"a"), (b"x-slatag-sla-deadline-ms", b"5")]

    found = attributes_of(served(timeline(headers=headers, error="X"), 20, 40), "vllm", "1")

    assert {name: known.get(name) for name in found} == {name: type(value) for name, value in found.items()}


@pytest.mark.parametrize(
    ("values", "reason", "expected"),
    [
        ({}, "stop", ("ok", "")),
        ({}, "length", ("ok", "")),
        ({}, "abort", ("aborted", "")),
        ({}, "error", ("error", "error")),
        ({"disconnected": True}, "stop", ("aborted", "")),
        ({"error": "CancelledError"}, "", ("aborted", "")),
        ({"status_code": 400}, "", ("error", "400")),
        ({"status_code": 404}, "", ("error", "404")),
        ({"status_code": 408}, "", ("timeout", "408")),
        ({"status_code": 504}, "", ("timeout", "504")),
        ({"error": "TimeoutError", "status_code": 500}, "", ("timeout", "TimeoutError")),
        ({"error": "EngineDeadError"}, "error", ("error", "EngineDeadError")),
        ({"error": "EngineDeadError", "status_code": 500}, "", ("error", "EngineDeadError")),
    ],
)
def test_outcomes(values: dict[str, Any], reason: str, expected: tuple[str, str]) -> None:
    """How a request ended, and the class of its failure."""
    made = timeline(**values)
    if reason:
        served(made, reason=reason)

    assert expected == outcome(made)


def test_refused_before_the_engine() -> None:
    """A request that was refused has no TTFT, no stage and no token, but its outcome and its place."""
    found = attributes_of(timeline(status_code=400, tokenize_start=5), "vllm", "1")

    assert ("error", "400", "tokenize") == (
        found["slatag.status"],
        found["error.type"],
        found["slatag.processing_stage"],
    )
    assert not [name for name in found if "stage." in name or "gap" in name or "usage" in name]
    assert "slatag.first_byte_latency_us" not in found


def test_stage_reached() -> None:
    """The last stage is what was seen: parsing, tokenizing, queueing, delivering."""
    queued = timeline()
    queued.add("a", 1, True)

    assert ["ingress", "tokenize", "queue", "egress"] == [
        stage_reached(timeline()),
        stage_reached(timeline(tokenize_start=1)),
        stage_reached(queued),
        stage_reached(served(timeline(), 20)),
    ]


def test_parallel_samples_are_one_request() -> None:
    """With n = 2 the prompt counts once, tokens and gaps of both count, the first of them gives TTFT."""
    made = served(timeline(), 20, 40)
    served(made, 10, 20, 30, prompt=0)

    found = attributes_of(made, "vllm", "1")

    assert 10_000.0 == found["slatag.first_byte_latency_us"] == sum(stages_of(made).values()) / 1e3
    assert (9, 5, 3) == (
        found["gen_ai.usage.input_tokens"],
        found["gen_ai.usage.output_tokens"],
        found["slatag.token_gap.count"],
    )
    assert 3 == found["gen_ai.usage.cache_read.input_tokens"]
    assert pytest.approx((20_000 + 10_000 + 10_000) / 3) == found["slatag.tpot_us"]
    assert ["stop", "stop"] == found["gen_ai.response.finish_reasons"]


def test_the_whole_timeline_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every gap is kept when it is asked for, and only then."""
    made = served(timeline(), 20, 40, 41)
    assert "slatag.token_timeline" not in attributes_of(made, "vllm", "1")

    monkeypatch.setenv("OTEL_ATTRIB_TOKEN_TIMELINE", "1")
    packed = attributes_of(made, "vllm", "1")["slatag.token_timeline"]

    assert (20_000, 1_000) == struct.unpack("<2I", base64.b64decode(packed))


def test_without_the_engines_facts() -> None:
    """A request whose engine told nothing has its TTFT, with what is unexplained as outside."""
    made = served(timeline(), 20)
    made.sequences[0].first = made.sequences[0].last = None

    found = attributes_of(made, "vllm", "1")

    assert (4_000.0, 16_000.0) == (found["slatag.stage.ingress_us"], found["slatag.stage.outside_us"])
    assert "slatag.stage.queue_us" not in found
    assert "slatag.preemptions" not in found
