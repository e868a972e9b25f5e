"""One slow request beside requests like it: ms that add up, what its steps show, when nothing can be said."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.one_request import Explanation, explain_request, explain_trace
from otel_attrib.analytics.one_request_text import headline, lines
from otel_attrib.analytics.period import Period, rows_of
from otel_attrib.analytics.windows import Window
from otel_attrib.errors import DataError, NotFound, UsageError
from otel_attrib.schema.attributes import STAGES
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
NOON_US = int(NOON.timestamp()) * 1_000_000
Requests = Callable[..., pa.Table]
STAMP = pa.timestamp("us", "UTC")


def period_of(table: pa.Table, metric: str = "ttft", steps: pa.Table | None = None) -> Period:
    """A quarter of an hour."""
    window = Window(NOON, NOON + timedelta(minutes=15))
    return Period(window, rows_of(table, METRICS[metric]), table, pa.table({}) if steps is None else steps)


def slow(**changed: Any) -> dict[str, Any]:
    """A row of `requests`: 500 tokens that waited for 2 s; its stages and `outside` add up to TTFT."""
    row: dict[str, Any] = {
        "time_us": NOON_US + 60_000_000, "trace_id": "ab" * 16, "span_id": "cd" * 8, "request_id": "r-1",
        "service": "chat", "node": "n0", "replica": "0", "model": "m0", "tenant": "acme", "status": "ok",
        "prompt_tokens": 500, "cached_tokens": None, "output_tokens": 20,
        "first_step": 10, "last_step": 40, "ttft_us": 2_032_500.0, "tpot_us": 2_000.0, "e2e_us": 2_070_500.0,
        **{f"{stage}_us": 500.0 for stage in STAGES}, "queue_us": 2_000_000.0, "prefill_us": 29_500.0,
        **{f"decode_{stage}_us": 500.0 for stage in ("batch_wait", "forward", "sample", "egress")},
    }  # fmt: skip
    return row | changed


def explained(table: pa.Table, **changed: Any) -> Explanation:
    """The slow request beside those of the table."""
    return explain_request(slow(**changed), period_of(table), METRICS["ttft"])


def test_a_line_is_own_minus_the_median_of_the_peers(requests: Requests) -> None:
    """The queue's typical time is the median of the hundred nearest prompts of the same model."""
    table = requests(2000, seed=1)
    told = explained(table)
    same = np.array(table["model"].to_pylist()) == "m0"
    apart = np.abs(np.log1p(table["prompt_tokens"].to_numpy().astype(float)) - np.log1p(500.0))
    nearest = np.argsort(np.where(same, apart, np.inf), kind="stable")[:100]
    queue = table["queue_us"].to_numpy()[nearest] / 1000
    line = next(line for line in told.stages if line.stage == "queue")

    assert 100 == told.peers
    assert line.typical_ms == pytest.approx(float(np.median(queue)), rel=1e-12)
    assert line.excess_ms == pytest.approx(2000.0 - float(np.median(queue)), rel=1e-12)
    deviation = 1.4826 * float(np.median(np.abs(queue - np.median(queue))))
    assert line.z == pytest.approx((2000.0 - float(np.median(queue))) / deviation, rel=1e-12)


@pytest.mark.parametrize("metric", ["ttft", "tpot", "e2e"])
def test_the_lines_add_up_to_the_excess(requests: Requests, metric: str) -> None:
    """Σ (own − typical) + unexplained is own − the median of the peers, in every metric with stages."""
    table = requests(3000, seed=2)
    told = explain_request(slow(), period_of(table, metric), METRICS[metric])

    assert told.enough
    assert told.excess_ms is not None and told.unexplained_ms is not None and told.typical_ms is not None
    assert sum(line.excess_ms for line in told.stages) + told.unexplained_ms == pytest.approx(
        told.own_ms - told.typical_ms, abs=1e-9
    )
    assert told.own_ms == pytest.approx(slow()[f"{metric}_us"] / 1000, rel=1e-12)


def test_the_answer_names_the_stage(requests: Requests) -> None:
    """The first line says how much slower, and that the queue made it so."""
    told = explained(requests(2000, seed=3))

    assert headline(told).startswith("TTFT 2,032 ms, +1,99")
    assert "than usual: queue +1,99" in headline(told)
    assert 1.0 == told.slower_than


def test_a_usual_request_is_said_to_be_usual(requests: Requests) -> None:
    """A row of the table itself, near the middle, is slower than few: nothing is blamed."""
    table = requests(2000, seed=4)
    middle = int(np.argsort(table["ttft_us"].to_numpy())[1000])
    row = table.slice(middle, 1).to_pylist()[0]
    row["time_us"] = int(row["time"].timestamp() * 1_000_000)
    told = explain_request({**slow(), **row}, period_of(table), METRICS["ttft"])

    assert "as usual" in headline(told)


def test_what_no_stage_has_stays_unexplained(requests: Requests) -> None:
    """A request whose second lies in no stage: the second is unexplained, and the first line says so."""
    told = explained(requests(2000, seed=5), queue_us=8_000.0, ttft_us=1_040_000.0, outside_us=1_000_000.0)

    assert told.unexplained_ms == pytest.approx(1000.0, abs=10.0)
    assert "unexplained +1,00" in headline(told)


def test_a_stage_not_observed_is_no_zero(requests: Requests) -> None:
    """Without its queue the request's line is unknown, and its time is unexplained."""
    told = explained(requests(2000, seed=6), queue_us=None)
    line = next(line for line in told.stages if line.stage == "queue")

    assert (None, 0.0, None) == (line.own_ms, line.excess_ms, line.z)
    assert told.unexplained_ms == pytest.approx(1990.0, abs=20.0)
    assert any("not observed" in text for text in lines(told))


def test_too_few_peers_are_said(requests: Requests) -> None:
    """Nineteen requests of the same size are not enough; that is the answer, and no stage is blamed."""
    table = requests(19, seed=7)
    place = table.column_names.index("prompt_tokens")
    told = explained(table.set_column(place, "prompt_tokens", pa.array([500] * 19, pa.uint32())))

    assert not told.enough
    assert () == told.stages
    assert headline(told).endswith("requests like it, 20 would tell")


def test_the_request_is_not_its_own_peer(requests: Requests) -> None:
    """A window that holds the request too gives the same as one without it."""
    table = requests(200, seed=8)
    row = table.slice(7, 1).to_pylist()[0]
    row |= {"time_us": int(row["time"].timestamp() * 1_000_000)}
    others = pa.concat_tables([table.slice(0, 7), table.slice(8)])
    both = [explain_request({**slow(), **row}, period_of(t), METRICS["ttft"]) for t in (table, others)]

    assert both[0] == both[1]


def steps(start_us: int, numbers: range, **changed: float) -> pa.Table:
    """Engine steps of 10 ms each."""
    n = len(numbers)
    usual = {
        "duration_us": 10_000.0, "batch_size": 8.0, "prefill_tokens": 200.0, "decode_tokens": 8.0,
        "waiting": 1.0, "running": 8.0, "preemptions": 0.0, "kv_usage": 0.4, "schedule_us": 200.0,
        "forward_us": 9_000.0,
        "sample_us": 300.0, "collective_us": 500.0, "copy_us": 400.0, "output_us": 100.0,
    }  # fmt: skip
    counts = {"batch_size", "prefill_tokens", "decode_tokens", "waiting", "running", "preemptions"}
    columns: dict[str, Any] = {
        "time": pa.array([start_us + 10_000 * i for i in range(n)], pa.int64()).cast(STAMP),
        "service": ["chat"] * n, "node": ["n0"] * n, "engine": ["vllm"] * n, "replica": ["0"] * n,
        "step": pa.array(list(numbers), pa.uint64()),
    }  # fmt: skip
    for name, value in (usual | changed).items():
        kind = pa.uint32() if name in counts else pa.float64()
        columns[name] = pa.array([value] * n, pa.float64()).cast(kind)
    return pa.table(columns)


def test_its_steps_are_a_hint_beside_the_stage(requests: Requests) -> None:
    """Waiting requests, a full cache, preemptions stand with the queue; long copies with what they delay."""
    window = steps(NOON_US, range(1000))
    own = steps(
        slow()["time_us"], range(10, 40), waiting=30.0, kv_usage=0.97, preemptions=1.0, copy_us=6_000.0
    )
    told = explain_request(slow(), period_of(requests(2000, seed=9), steps=window), METRICS["ttft"], own)
    hints = {line.stage: line.hint for line in told.stages}

    assert "30 preemptions in its steps; 30 waiting, usually 1; KV cache 97% full" == hints["queue"]
    assert "copies 6.0 ms a step, usually 0.4" == hints["kv_init"]
    assert "copies 6.0 ms a step, usually 0.4" in hints["prefill"]
    assert "5,500 prompt tokens of others in its steps" in hints["prefill"]


def test_usual_steps_give_no_hint(requests: Requests) -> None:
    """Steps like all others say nothing."""
    window = steps(NOON_US, range(1000))
    own = steps(slow()["time_us"], range(10, 12), prefill_tokens=250.0, duration_us=12_500.0)
    told = explain_request(slow(), period_of(requests(2000, seed=9), steps=window), METRICS["ttft"], own)

    assert {""} == {line.hint for line in told.stages}


def test_the_text_fits_eighty_columns(requests: Requests) -> None:
    """Every line, with long numbers and hints, and the table sums as the dictionary does."""
    own = steps(
        slow()["time_us"], range(10, 40), waiting=30.0, preemptions=1.0, copy_us=6e6, collective_us=6e6
    )
    table = requests(2000, seed=10)
    told = explain_request(
        slow(prefill_us=9e9, ttft_us=9e9 + 2_003_000), period_of(table), METRICS["ttft"], own
    )
    text = lines(told)

    assert 80 >= max(len(line) for line in text)
    assert headline(told) == text[0]
    assert {"schema", "stages", "unexplained_ms", "who"} <= told.as_dict().keys()
    assert any(line.startswith("stays unexplained") for line in text)


def test_a_request_without_a_first_token_is_refused(requests: Requests) -> None:
    """Aborted before its first token: the message says what is missing."""
    with pytest.raises(DataError, match="has no TTFT .status aborted.: nothing to explain"):
        explained(requests(100, seed=11), ttft_us=None, status="aborted")


def test_from_the_store_by_trace(store: Store, requests: Requests) -> None:
    """A stored request is found by the start of its trace and compared with its neighbours in time."""
    table = requests(2000, seed=0x77)
    store.insert_arrow("requests", table)
    slowest = int(np.argmax(table["queue_us"].to_numpy()))
    trace = table["trace_id"][slowest].as_py()
    row = table.slice(slowest, 1).to_pylist()[0]
    told = explain_trace(store, trace)

    assert trace == told.trace_id
    assert told.enough
    assert told.own_ms == pytest.approx(row["ttft_us"] / 1000, rel=1e-9)
    assert told.excess_ms == pytest.approx(
        sum(line.excess_ms for line in told.stages) + (told.unexplained_ms or 0.0), abs=1e-9
    )


def test_unknown_and_ambiguous_ids_are_refused(store: Store, requests: Requests) -> None:
    """An id that nobody has, one that many have, and a metric without stages: one clear line each."""
    store.insert_arrow("requests", requests(50, seed=0x78))

    with pytest.raises(NotFound, match="no request with trace, span or request id 'feedbeef'"):
        explain_trace(store, "feedbeef")
    with pytest.raises(UsageError, match="'00000078' means more than 10 requests"):
        explain_trace(store, "00000078")
    with pytest.raises(UsageError, match="tbt has no stages to compare; ask for one of e2e, tpot, ttft"):
        explain_trace(store, "00000078", metric="tbt")
