"""Judging items: the fast way over whole lists and the slow way over single items say the same."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_attrib import testing_otlp as bodies
from otel_attrib.collector.refusal import Refusal
from otel_attrib.collector.signals import LOGS, METRICS, SIGNALS, TRACES, Signal
from otel_attrib.collector.validate import DAY_NS, MOST_DAYS, check, item_lists

BODIES: dict[str, Any] = {"traces": bodies.traces, "metrics": bodies.metrics, "logs": bodies.logs}
LATE = 1 << 63


@pytest.mark.parametrize("signal", SIGNALS, ids=lambda signal: signal.name)
def test_good_requests_pass_as_they_came(signal: Signal) -> None:
    """The payload is the very object; the items are counted."""
    body = BODIES[signal.name](7).SerializeToString()
    verdict = check(signal, body)

    assert body is verdict.payload
    assert (7, 0, "") == (verdict.items, verdict.rejected, verdict.why)


IDS = st.sampled_from([b"", b"\x01" * 8, b"\x01" * 16, bytes(8), bytes(16), b"\x01" * 7])


@given(st.lists(st.tuples(IDS, IDS, IDS, st.sampled_from([0, 5, LATE - 1, LATE, 2 * LATE - 1])), max_size=6))
def test_spans_one_by_one(spans: list[tuple[bytes, bytes, bytes, int]]) -> None:
    """Exactly those spans are kept whose ids have the right length and are not zero, and whose time fits."""
    request = bodies.traces(0)
    held = request.resource_spans[0].scope_spans[0].spans
    for trace, span, parent, end in spans:
        held.add(trace_id=trace, span_id=span, parent_span_id=parent, end_time_unix_nano=end)
    verdict = check(TRACES, request.SerializeToString())
    good = [
        (trace, span)
        for trace, span, parent, end in spans
        if trace == b"\x01" * 16 and span == b"\x01" * 8 and len(parent) in (0, 8) and end < LATE
    ]
    kept = [
        (span.trace_id, span.span_id)
        for resource in TRACES.decode(verdict.payload).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]

    assert good == kept
    assert (len(good), len(spans) - len(good)) == (verdict.items, verdict.rejected)
    assert bool(verdict.rejected) == bool(verdict.why)


@pytest.mark.parametrize(("field", "value"), [("time_unix_nano", LATE), ("start_time_unix_nano", LATE)])
def test_points(field: str, value: int) -> None:
    """A point of any kind with a time that the store cannot hold is taken out."""
    request = bodies.metrics(2)
    scope = request.resource_metrics[0].scope_metrics[0]
    for name in ("sum", "histogram", "exponential_histogram", "summary"):
        metric = scope.metrics.add(name=name)
        points = getattr(metric, name).data_points
        points.add(time_unix_nano=1)
        setattr(points.add(), field, value)
    verdict = check(METRICS, request.SerializeToString())

    assert (6, 4) == (verdict.items, verdict.rejected)
    assert [1] * 5 == [
        len(getattr(metric, metric.WhichOneof("data")).data_points) - (metric.name == "load")
        for metric in METRICS.decode(verdict.payload).resource_metrics[0].scope_metrics[0].metrics
    ]


def test_metric_without_data() -> None:
    """A metric of no kind has no points, and is no fault."""
    request = bodies.metrics(1)
    request.resource_metrics[0].scope_metrics[0].metrics.add(name="bare")

    assert 1 == check(METRICS, request.SerializeToString()).items


def test_log_records() -> None:
    """Records may have no ids; ids of another length take theirs out."""
    request = bodies.logs(3)
    records = request.resource_logs[0].scope_logs[0].log_records
    records[0].trace_id = b"\x01" * 16
    records[1].trace_id = b"\x01" * 15
    verdict = check(LOGS, request.SerializeToString())

    assert (2, 1) == (verdict.items, verdict.rejected)
    assert "trace_id" in verdict.why


def test_an_id_that_is_not_hex() -> None:
    """It costs its own span, as an id of a wrong length does, and no other."""
    spans = [{"traceId": trace, "spanId": "01" * 8} for trace in ("01" * 16, "zz", "0101")]
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()
    verdict = check(TRACES, body, is_json=True)

    assert (1, 2, "2 with a trace_id that is not 16 bytes, or all zero") == (
        verdict.items,
        verdict.rejected,
        verdict.why,
    )


@pytest.mark.parametrize("signal", SIGNALS, ids=lambda signal: signal.name)
def test_most_items(signal: Signal) -> None:
    """The limit itself passes, one more is refused; lists without items count as well."""
    body = BODIES[signal.name](7).SerializeToString()

    assert 7 == check(signal, body, most_items=7).items
    for sent in (body, body * 7):
        with pytest.raises(Refusal, match="more than 6 items") as caught:
            check(signal, sent, most_items=6)
        assert "too_large" == caught.value.name


def test_most_days() -> None:
    """Spans of the first days are kept, however old; all others are told."""
    request = bodies.traces(140)
    spans = request.resource_spans[0].scope_spans[0].spans
    for number, span in enumerate(spans):
        span.start_time_unix_nano = (number % 70) * DAY_NS
    body = request.SerializeToString()
    verdict = check(TRACES, body, most_days=MOST_DAYS)
    kept = next(iter(item_lists(TRACES, TRACES.decode(verdict.payload))))

    assert (128, 12, "12 with a day beyond the first 64 days of one request") == (
        verdict.items,
        verdict.rejected,
        verdict.why,
    )
    assert [span.span_id for span in spans if span.start_time_unix_nano < 64 * DAY_NS] == [
        span.span_id for span in kept
    ]
    assert body is check(TRACES, body, most_days=70).payload


@given(st.binary(max_size=300))
def test_anything_at_all(data: bytes) -> None:
    """Whatever comes, it is either refused as malformed or judged."""
    for signal in SIGNALS:
        for is_json in (False, True):
            try:
                verdict = check(signal, data, is_json)
            except Refusal as refusal:
                assert "malformed" == refusal.name
            else:
                assert verdict.items >= 0


FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.mark.parametrize(
    ("name", "signal", "items"),
    [("trace", TRACES, 1), ("metrics", METRICS, 4), ("logs", LOGS, 1), ("events", LOGS, 1)],
)
def test_examples_of_the_specification(name: str, signal: Signal, items: int) -> None:
    """OpenTelemetry's own JSON examples are good in every item."""
    verdict = check(signal, (FIXTURES / f"otlp_examples/{name}.json").read_bytes(), is_json=True)

    assert (items, 0) == (verdict.items, verdict.rejected)


@pytest.mark.parametrize(
    "path", sorted((FIXTURES / "engine_captures").rglob("*.pb")), ids=lambda path: path.name
)
def test_what_engines_send(path: Path) -> None:
    """What real inference servers exported passes as it came."""
    body = path.read_bytes()
    verdict = check(TRACES, body)

    assert body is verdict.payload
    assert verdict.items > 0
