"""A request taken apart and drawn: shares, missing stages, stalls, steps, other services' spans."""

from typing import Any

import pytest

from otel_attrib.analytics.waterfall import Neighbour, Stall, waterfall
from otel_attrib.analytics.waterfall_text import headline, lines, milliseconds
from otel_attrib.schema.attributes import STAGES

START = 1_795_960_000_000_000
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def request(**changed: Any) -> dict[str, Any]:
    """A row of `requests` with a first token after 871 ms: 310 ms queue, 402 ms prefill, 159 ms outside."""
    row: dict[str, Any] = {
        "time_us": START, "trace_id": TRACE, "span_id": "00f067aa0ba902b7", "request_id": "cmpl-1",
        "service": "chat", "node": "n1", "gpu_set": "", "engine": "vllm", "engine_version": "0.32.0",
        "model": "tiny", "version": "v2", "replica": "0", "tenant": "", "sla_class": "", "stream_id": "",
        "partition_id": "", "operator_id": "", "parallelism": "", "operation": "chat",
        "source": "otel_attrib", "status": "ok", "finish_reason": "stop", "error_type": "",
        "prompt_tokens": 512, "cached_tokens": 112, "output_tokens": 64, "sla_deadline_ms": None,
        "preemptions": 0, "prefill_chunks": 1, "ttft_us": 871_000.0, "tpot_us": 12_000.0,
        "e2e_us": 1_627_000.0, **{f"{stage}_us": None for stage in STAGES},
        "queue_us": 310_000.0, "prefill_us": 402_000.0, "outside_us": 159_000.0,
        "decode_batch_wait_us": None, "decode_forward_us": 11_000.0, "decode_sample_us": 500.0,
        "decode_egress_us": None, "gap_count": 63, "gap_mean_us": 12_000.0, "gap_p50_us": 11_900.0,
        "gap_p99_us": 30_000.0, "gap_max_us": 31_000.0, "gaps_us": [],
    }  # fmt: skip
    return row | changed


def span(**changed: Any) -> dict[str, Any]:
    """A row of `otel_traces`: the request's own span."""
    row: dict[str, Any] = {
        "time_us": START, "SpanId": "00f067aa0ba902b7", "ParentSpanId": "", "SpanName": "chat tiny",
        "ServiceName": "chat", "ScopeName": "otel_attrib.request", "Duration": 1_627_000_000,
        "SpanAttributes": {}, "Events.Name": [], "Events.Attributes": [], "node": "n1",
    }  # fmt: skip
    return row | changed


def step(number: int, at_us: int, **changed: Any) -> dict[str, Any]:
    """A row of `steps`, 10 ms long."""
    row: dict[str, Any] = {
        "step": number, "time_us": START + at_us, "duration_us": 10_000.0, "batch_size": 8,
        "prefill_tokens": 0, "kv_usage": 0.5, "waiting": 2, "preemptions": 0,
    }  # fmt: skip
    return row | changed


def test_first_line_is_the_answer() -> None:
    """The dearest stages stand first, in ms, beside TTFT."""
    assert "TTFT 871 ms: 402 ms prefill, 310 ms queue, 159 ms outside" == headline(waterfall(request()))


def test_first_line_says_how_it_ended() -> None:
    """A request that got a token and did not end well says so on the first line."""
    shown = waterfall(request(status="timeout"))

    assert "TTFT 871 ms: 402 ms prefill, 310 ms queue, 159 ms outside; timeout after 1,627 ms" == headline(
        shown
    )


def test_shares_and_places() -> None:
    """A share is of TTFT, and a bar starts where the observed stages before it end."""
    bars = {bar.stage: bar for bar in waterfall(request()).stages}

    assert pytest.approx(310 / 871) == bars["queue"].share
    assert 0.0 == bars["queue"].offset_us
    assert 310_000.0 == bars["prefill"].offset_us
    assert 712_000.0 == bars["outside"].offset_us
    assert bars["tokenize"].us is None
    assert bars["tokenize"].share is None


def test_missing_stage_is_said() -> None:
    """NULL reads `not observed`, 0 reads 0.00 ms."""
    shown = waterfall(request(kv_init_us=0.0))
    text = {line.split()[0]: line for line in lines(shown) if line}

    assert ("ingress", "tokenize", "sample", "egress") == shown.missing
    assert "not observed" in text["tokenize"]
    assert "0.00" in text["kv_init"]


def test_measured_from_queue_is_labelled() -> None:
    """A TTFT that starts at the queue says so on the first line."""
    own = span(SpanAttributes={"slatag.measured_from": "queued"})

    assert headline(waterfall(request(), [own])).startswith("TTFT 871 ms from queued: ")


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (
            {"status": "aborted", "e2e_us": 1_200_000.0, "prefill_us": None, "outside_us": None},
            "no token written: aborted after 1,200 ms, last stage seen: queue (310 ms queue)",
        ),
        ({"status": "ok"}, "TTFT not observed: 402 ms prefill, 310 ms queue, 159 ms outside"),
    ],
    ids=["aborted", "not-observed"],
)
def test_no_first_token(changed: dict[str, Any], expected: str) -> None:
    """Without TTFT the first line tells a request that failed from one that was not measured."""
    assert expected == headline(waterfall(request(ttft_us=None, **changed)))


def test_stalls_worst_first() -> None:
    """Stall events become stalls, the longest first; other events are no stalls."""
    own = span(
        **{
            "Events.Name": ["token_stall", "exception", "token_stall"],
            "Events.Attributes": [
                {"slatag.token_index": "17", "slatag.gap_us": "30500.5"},
                {"exception.type": "ValueError"},
                {"slatag.token_index": "33", "slatag.gap_us": "31000"},
            ],
        }
    )
    shown = waterfall(request(), [own])

    assert (Stall(33, 31_000.0), Stall(17, 30_500.5)) == shown.stalls
    assert "stalls   token 33 31.0 ms  token 17 30.5 ms" in lines(shown)


def test_steps_are_split_at_the_first_token() -> None:
    """Steps before TTFT and after it are two lines, and the request's own prompt is not beside itself."""
    served = [
        step(7, 320_000, prefill_tokens=2_000, kv_usage=0.40, batch_size=12),
        step(8, 600_000, prefill_tokens=0, kv_usage=0.44, batch_size=10, preemptions=1),
        step(9, 880_000, kv_usage=None),
    ]
    before, after = waterfall(request(), steps=served).steps

    assert (2, 7, 8, 11.0, 12) == (
        before.steps,
        before.first,
        before.last,
        before.batch_mean,
        before.batch_max,
    )
    assert 2_000 - (512 - 112) == before.prefill_beside
    assert (0.40, 0.44) == (before.kv_low, before.kv_high)
    assert (1, None, 0) == (after.steps, after.kv_low, after.prefill_beside)


def test_step_columns_that_were_not_observed() -> None:
    """A step without numbers counts as a step, and what it lacks is a question mark, not 0."""
    bare = dict.fromkeys(
        ("duration_us", "batch_size", "prefill_tokens", "kv_usage", "waiting", "preemptions")
    )
    shown = waterfall(request(), steps=[step(7, 0) | bare])
    (phase,) = shown.steps

    assert (1, None, None, None, None) == (
        phase.steps,
        phase.mean_us,
        phase.batch_mean,
        phase.kv_low,
        phase.waiting_max,
    )
    assert any(line.split()[:6] == ["to", "1st", "token", "1", "?", "?"] for line in lines(shown))


def test_other_services_are_shown_and_own_stages_are_not() -> None:
    """A caller's span keeps its offset; a span of another host is marked."""
    gateway = span(
        SpanId="aa", SpanName="POST /v1", ServiceName="gateway", ScopeName="gw", node="n9",
        time_us=START - 4_000, Duration=900_000_000,
    )  # fmt: skip
    stage = span(SpanId="bb", ParentSpanId="00f067aa0ba902b7", SpanName="queue")
    inner = span(SpanId="cc", ParentSpanId="00f067aa0ba902b7", SpanName="llm_request", ScopeName="vllm")
    shown = waterfall(request(), [span(), inner, stage, gateway])

    assert Neighbour("gateway", "POST /v1", -4_000, 900_000.0, "n9", True) == shown.neighbours[0]
    assert ["POST /v1", "llm_request"] == [other.name for other in shown.neighbours]
    assert any("another host" in line for line in lines(shown))


def test_spans_from_before_and_after_are_counted() -> None:
    """Spans that were not open while the request was are not drawn beside it."""
    before = span(SpanId="aa", SpanName="early", time_us=START - 10_000_000, Duration=1_000_000)
    text = lines(waterfall(request(), [span(), before, span(SpanId="bb", SpanName="open")]))

    assert not any("early" in line for line in text)
    assert any("open" in line for line in text)
    assert "  and 1 more (--json has them all)" in text


def test_timeline_keeps_the_peak() -> None:
    """A longer series than the line is wide is squeezed without losing its longest gap."""
    gaps = [10.0] * 500
    gaps[250] = 1_000.0
    own = span(SpanAttributes={"slatag.token_timeline": "…"})
    (line,) = [line for line in lines(waterfall(request(gaps_us=gaps), [own])) if line.startswith("timeline")]

    assert 80 == len(line)
    assert 1 == line.count("█")


def test_a_sketch_is_no_timeline() -> None:
    """Gaps unfolded from a sketch have lost their order and are not drawn as a series."""
    assert () == waterfall(request(gaps_us=[1.0, 2.0]), [span()]).timeline_us


@pytest.mark.parametrize("unicode", [True, False])
def test_fits_a_terminal(unicode: bool) -> None:
    """No line is longer than 80 columns, and plain ASCII is really plain."""
    crowded = request(
        service="s" * 70, model="m" * 70, tenant="t" * 40, gaps_us=[1.0, 5.0] * 99, sla_deadline_ms=500.0,
        decode_batch_wait_us=1.0, decode_egress_us=1.0,
    )  # fmt: skip
    caller = span(SpanId="aa", ServiceName="g" * 90, SpanName="é" * 90, node="n9", ScopeName="")
    text = lines(waterfall(crowded, [span(), caller], [step(1, 0), step(2, 900_000)]), unicode=unicode)

    assert [] == [line for line in text if len(line) > 80]
    assert unicode is not all(line.isascii() for line in text)


def test_bars_of_a_complete_request_fill_the_line() -> None:
    """The bars of stages that add up to TTFT cover the whole width once."""
    drawn = [line.split("|")[1] for line in lines(waterfall(request())) if line.count("|") == 2][1:]
    covered = ["".join(cells).strip() for cells in zip(*drawn, strict=True)]

    assert [] == [cell for cell in covered if not cell]


@pytest.mark.parametrize(
    ("us", "expected"),
    [
        (0.0, "0.00"),
        (12.3, "0.01"),
        (9_994.0, "9.99"),
        (9_996.0, "10.0"),
        (871_000.0, "871"),
        (1.2e7, "12,000"),
    ],
)
def test_milliseconds(us: float, expected: str) -> None:
    """Three significant digits, thousands parted."""
    assert expected == milliseconds(us)
