"""`trace` finds one request by any of its names and shows what the store holds of it."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from otel_attrib.schema.store import Store

Run = Callable[..., str]
START = datetime(2026, 5, 1, 12, tzinfo=UTC)
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
STAMP = pa.timestamp("us", "UTC")


def request(**changed: Any) -> dict[str, Any]:
    """A row of `requests`: TTFT 871 ms."""
    row: dict[str, Any] = {
        "time": START, "trace_id": TRACE, "span_id": "00f067aa0ba902b7", "request_id": "cmpl-17",
        "service": "chat", "node": "n1", "replica": "0", "status": "ok", "source": "otel_attrib",
        "prompt_tokens": 512,
        "output_tokens": 64, "ttft_us": 871_000.0, "e2e_us": 1_627_000.0, "queue_us": 310_000.0,
        "prefill_us": 402_000.0, "outside_us": 159_000.0, "first_step": 41, "last_step": 43,
    }  # fmt: skip
    return row | changed


def insert(store: Store, table: str, rows: list[dict[str, Any]]) -> None:
    """Insert dicts; times are given their type."""
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    arrays = {
        name: pa.array(cells, STAMP) if name == "time" else pa.array(cells) for name, cells in columns.items()
    }
    store.insert_arrow(table, pa.table(arrays))


@pytest.fixture(autouse=True)
def two_requests(store: Store) -> None:
    """Two requests whose ids begin alike."""
    insert(
        store,
        "requests",
        [request(), request(trace_id=f"4bf9{'0' * 28}", span_id="01" * 8, request_id="cmpl-2")],
    )


@pytest.mark.parametrize("name", [TRACE, TRACE.upper(), TRACE[:6], "00f067aa0ba902b7", "cmpl-17", "cmpl-1"])
def test_every_name_finds_it(run: Run, name: str) -> None:
    """A trace, span or request id, whole or as long as it is unique, in capitals too."""
    first, *rest = run("trace", name).splitlines()

    assert "TTFT 871 ms: 402 ms prefill, 310 ms queue, 159 ms outside" == first
    assert f"trace    {TRACE}  span 00f067aa0ba902b7" in rest
    assert [] == [line for line in rest if len(line) > 80]


def test_json(run: Run) -> None:
    """Everything is in the JSON, stages in order, missing ones by name."""
    told = json.loads(run("trace", TRACE, "--json"))

    assert ("otel-attrib/trace/1", 871_000.0) == (told["schema"], told["ttft_us"])
    assert run("trace", TRACE).splitlines()[0] == told["headline"]
    assert ["ingress", "tokenize", "kv_init", "sample", "egress"] == told["missing"]
    assert "2026-05-01T12:00:00.000000Z" == told["request"]["time"]
    assert {"stage": "queue", "us": 310_000.0, "share": 310 / 871, "offset_us": 0.0} == told["stages"][2]


def test_an_ambiguous_beginning_lists_the_candidates(run: Run) -> None:
    """A beginning that several requests share is a usage error that names them."""
    fault = run("trace", "4bf9", code=2)

    assert "'4bf9' means 2 requests" in fault
    assert f"2026-05-01 12:00:00  {TRACE}  cmpl-17\n" in fault
    assert f"2026-05-01 12:00:00  4bf9{'0' * 28}  cmpl-2\n" in fault


def test_not_found(run: Run) -> None:
    """An id that nothing has is exit code 1, with where ids come from."""
    assert "no request with trace, span or request id 'feed'" in run("trace", "feed", code=1)


def test_steps_that_served_it(run: Run, store: Store) -> None:
    """Steps are those of its engine between its first and last, parted at the first token."""
    step = {
        "service": "chat", "node": "n1", "engine": "vllm", "replica": "0", "duration_us": 20_000.0,
        "batch_size": 6, "prefill_tokens": 512, "decode_tokens": 5, "waiting": 1, "running": 6,
        "preemptions": 0, "kv_usage": 0.25,
    }  # fmt: skip
    at = {40: 0, 41: 330_000, 42: 700_000, 43: 1_000_000, 44: 1_200_000}
    rows = [{"time": START + timedelta(microseconds=us), "step": number, **step} for number, us in at.items()]
    insert(store, "steps", [*rows, *({**row, "replica": "1"} for row in rows)])
    before, after = json.loads(run("trace", TRACE, "--json"))["steps"]

    assert (2, 41, 42) == (before["steps"], before["first"], before["last"])
    assert (1, 43, 43) == (after["steps"], after["first"], after["last"])
    assert (6.0, 512, 0.25) == (before["batch_mean"], before["prefill_beside"], before["kv_high"])


def test_an_empty_id_is_refused(run: Run) -> None:
    """An empty id would mean every request: it is the user's mistake."""
    assert "the id is empty" in run("trace", " ", code=2)


def test_evidence(run: Run, store: Store) -> None:
    """With --evidence counters of its host follow the waterfall and stand in the JSON; without, neither."""
    rows = [
        {"time": START + timedelta(milliseconds=100 * n), "metric": "slatag.process.run_queue_wait",
         "node": "n1", "value": 0.02 * n}
        for n in range(-10, 30)
    ]  # fmt: skip
    insert(store, "samples", rows)
    first, *rest = run("trace", TRACE, "--evidence").splitlines()
    told = json.loads(run("trace", TRACE, "--evidence", "--json"))["evidence"]

    assert "TTFT 871 ms: 402 ms prefill, 310 ms queue, 159 ms outside" == first
    assert "evidence: 1 counter read, nothing to hold against" in rest
    assert [] == [line for line in rest if len(line) > 80]
    found = {each["stage"]: each["value"] for each in told["findings"]}
    assert pytest.approx(0.2 * 1.627) == found["request"]
    assert pytest.approx(found["request"]) == sum(found.values()) - found["request"]
    assert {"gpu", "pcie", "nvlink", "network", "client"} == set(told["missing"])
    assert "evidence" not in json.loads(run("trace", TRACE, "--json"))


def log_record(seconds: float, body: str, **changed: Any) -> dict[str, Any]:
    """A row of `otel_logs`, `seconds` after the request's arrival."""
    row = {
        "Timestamp": START + timedelta(seconds=seconds), "TraceId": TRACE, "SpanId": "00f067aa0ba902b7",
        "SeverityText": "INFO", "ServiceName": "chat", "Body": body, "ScopeName": "vllm.engine",
    }  # fmt: skip
    return row | changed


def insert_logs(store: Store, rows: list[dict[str, Any]], attributes: list[dict[str, str]]) -> None:
    """Insert log records, each with its attributes."""
    columns = {
        name: pa.array([row[name] for row in rows], STAMP if name == "Timestamp" else pa.string())
        for name in rows[0]
    }
    said = pa.array([list(one.items()) for one in attributes], pa.map_(pa.string(), pa.string()))
    store.insert_arrow("otel_logs", pa.table({**columns, "LogAttributes": said}))


def test_log_lines_of_the_trace(run: Run, store: Store) -> None:
    """Lines of the trace stand below, by TraceId or by an attribute; others and ancient ones do not."""
    rows = [
        log_record(0.2, "second \x1b[31mred"),
        log_record(-0.1, "first", SeverityText="WARN"),
        log_record(0.3, "third", TraceId=""),
        log_record(0.4, "of another trace", TraceId="0" * 31 + "1"),
        log_record(-7200, "ancient"),
    ]
    insert_logs(store, rows, [{}, {}, {"trace_id": TRACE, "logger": "uvicorn.access"}, {}, {}])

    told = json.loads(run("trace", TRACE, "--json"))["logs"]
    assert [("first", -100_000.0), ("second \x1b[31mred", 200_000.0), ("third", 300_000.0)] == [
        (line["body"], line["offset_us"]) for line in told
    ]
    assert ["vllm.engine", "vllm.engine", "uvicorn.access"] == [line["logger"] for line in told]
    text = run("trace", TRACE)
    assert "     -100.0  WARN   first\n      200.0  INFO   second [31mred\n      300.0  INFO   third" in text
    assert "\x1b" not in text


def test_many_log_lines(run: Run, store: Store) -> None:
    """Of many lines the first twelve are shown, cut at 80 columns, and the rest is counted."""
    rows = [log_record(number / 100, f"line {number:02} " + "x" * 100) for number in range(20)]
    insert_logs(store, rows, [{}] * 20)

    lines = run("trace", TRACE).splitlines()
    assert 12 == sum(" INFO   line " in line for line in lines)
    assert "  and 8 more (--json has them)" in lines
    assert [] == [line for line in lines if len(line) > 80]


def test_a_request_that_stands_for_others(run: Run, store: Store) -> None:
    """Where others like it were sampled away the request says for how many; for itself alone it is silent."""
    insert(store, "requests", [request(trace_id="ab" * 16, span_id="ab" * 8, request_id="cmpl-w", weight=10)])

    assert "stands for 10 requests" in run("trace", "cmpl-w")
    assert "stands for" not in run("trace", TRACE)
