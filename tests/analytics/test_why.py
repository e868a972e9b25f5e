"""`why` on requests made by a known recipe: what it says, what it refuses, and that its sums hold."""

import hashlib
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats.mstats import hdquantiles

from otel_attrib.analytics.question import pose
from otel_attrib.analytics.report import Report
from otel_attrib.analytics.report_text import render
from otel_attrib.analytics.verdict import RULE
from otel_attrib.analytics.why import explain
from otel_attrib.errors import DataError
from otel_attrib.schema.attributes import LAYERS
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
QUARTER = timedelta(minutes=15)
END = "2026-05-01T12:30:00Z"
Requests = Callable[..., pa.Table]


def why(store: Store, **words: Any) -> Report:
    """Ask about the 15 minutes before 12:30."""
    return explain(store, pose(store, **{"at": END, **words}))


def fill(
    store: Store, requests: Requests, n: tuple[int, int] = (3000, 3000), **current: Any
) -> tuple[pa.Table, pa.Table]:
    """Store a baseline from 12:00 and a current quarter from 12:15 that differs by `current`."""
    before = requests(n[0], seed=1, start=NOON)
    after = requests(n[1], seed=2, start=NOON + QUARTER, **current)
    for table in (before, after):
        store.insert_arrow("requests", table)
    return before, after


def replaced(table: pa.Table, column: str, values: Any) -> pa.Table:
    """The same table with other values in one column."""
    return table.set_column(table.column_names.index(column), column, pa.array(values))


@pytest.mark.parametrize("metric", ["ttft", "tpot", "e2e"])
def test_null_is_no_regression(store: Store, requests: Requests, metric: str) -> None:
    """Two quarters of the same recipe differ by nothing that counts."""
    fill(store, requests)
    report = why(store, metric=metric)

    assert "NO_REGRESSION" == report.verdict.word
    assert report.delta is not None
    low, high = report.delta.interval()
    assert low < 0 < high


def test_prefill_fault_is_global_with_prefill_first(store: Store, requests: Requests) -> None:
    """Prefill 1.8 times slower: a regression, not localised, whose tail is prefill."""
    before, after = fill(store, requests, factors={"prefill": 1.8})
    report = why(store)

    assert "GLOBAL" == report.verdict.word
    assert "prefill" == report.by_size[0][0]
    assert {"prefill"} == {exemplar.stage for exemplar in report.exemplars}
    assert {exemplar.trace_id for exemplar in report.exemplars} <= set(after["trace_id"].to_pylist())
    for side, table in ((report.baseline, before), (report.current, after)):
        expected = float(np.asarray(hdquantiles(table["ttft_us"].to_numpy(), [0.99]))[0]) / 1000
        assert expected == pytest.approx(side.ms, rel=1e-9)


def test_decode_fault_shows_in_tpot_and_tbt(store: Store, requests: Requests) -> None:
    """A slower forward pass raises TPOT, with forward first, and the single gaps."""
    store.insert_arrow("requests", requests(1500, seed=1, gaps=True))
    slower = {"decode_forward": 4.0}
    store.insert_arrow("requests", requests(1500, seed=2, start=NOON + QUARTER, factors=slower, gaps=True))

    tpot, tbt = why(store, metric="tpot"), why(store, metric="tbt")

    assert ("GLOBAL", "forward") == (tpot.verdict.word, tpot.by_size[0][0])
    assert ("GLOBAL", []) == (tbt.verdict.word, tbt.by_size)
    assert tbt.current.n > 20_000  # one value a gap


def test_improvement_is_no_regression(store: Store, requests: Requests) -> None:
    """A faster prefill is told as a fall."""
    fill(store, requests, factors={"prefill": 0.5})
    report = why(store)

    assert "NO_REGRESSION" == report.verdict.word
    assert render(report).startswith("P99 TTFT fell ")


def test_parts_and_outside_add_up(store: Store, requests: Requests) -> None:
    """In the JSON the stages and the unexplained part add up to the change within 1e-6 ms."""
    fill(store, requests, factors={"prefill": 1.8, "queue": 2.0})
    for metric in ("ttft", "tpot", "e2e"):
        body = why(store, metric=metric).as_dict()
        parts = sum(body["tail_accounting_ms"].values())

        assert body["delta_ms"] == pytest.approx(parts, abs=1e-6)
        assert body["checks"]["sum_error_ms"] <= 1e-6


def test_few_rows_are_insufficient_and_say_what_would_do(store: Store, requests: Requests) -> None:
    """300 requests leave 3 above P99: the rule's numbers are named, and a quantile that works."""
    fill(store, requests, n=(300, 300), factors={"prefill": 5})
    report = why(store)

    assert "INSUFFICIENT" == report.verdict.word
    expected = (
        "300 values in the baseline leave 3 above P99; 5 are needed (500 values):"
        " take a longer window or --quantile 0.98"
    )
    assert expected == report.verdict.reason
    assert "GLOBAL" == why(store, level=0.98).verdict.word


def test_a_wide_interval_is_insufficient(store: Store, requests: Requests) -> None:
    """When the tail is a handful of very slow requests, even a doubling would not show: no all-clear."""
    for seed, start in ((1, NOON), (2, NOON + QUARTER)):
        table = requests(500, seed=seed, start=start)
        ttft = table["ttft_us"].to_numpy().copy()
        ttft[np.random.default_rng(seed).choice(500, 6, replace=False)] *= 100
        store.insert_arrow("requests", replaced(table, "ttft_us", ttft))
    report = why(store)

    assert "INSUFFICIENT" == report.verdict.word
    assert report.verdict.reason.endswith("even a doubling would not have shown")


def test_empty_baseline_is_insufficient(store: Store, requests: Requests) -> None:
    """Without a baseline there is a quantile now, no change, and no invented number."""
    unseen = {"tokenize": 1.0}
    store.insert_arrow("requests", requests(600, seed=1, start=NOON + QUARTER, missing=unseen))
    body = why(store).as_dict()

    assert ("INSUFFICIENT", None, [None, None], {}) == (
        body["verdict"],
        body["delta_ms"],
        body["delta_ci_ms"],
        body["stages"],
    )
    assert body["current"]["ms"] > 0
    window = "2026-05-01T12:00:00Z…2026-05-01T12:15:00Z"
    assert f"no request is stored in the baseline ({window})" == body["checks"]["reason"]
    assert ({}, ["compared with the 15m just before"]) == (
        body["checks"]["missing_stages"],
        body["checks"]["notes"],
    )


def test_lost_telemetry_is_insufficient(store: Store, requests: Requests) -> None:
    """When a fifth of the answered requests carry no TTFT the rest may not speak for them."""
    before, after = requests(2000, seed=1), requests(2000, seed=2, start=NOON + QUARTER)
    holes = pa.array(after["ttft_us"].to_numpy(), mask=np.arange(2000) % 5 == 0)
    store.insert_arrow("requests", before)
    store.insert_arrow("requests", replaced(after, "ttft_us", holes))
    report = why(store)

    assert "INSUFFICIENT" == report.verdict.word
    assert "only 80 % of the current window's requests are measured; 90 % are needed" == report.verdict.reason
    assert 0.8 == report.as_dict()["checks"]["telemetry_complete"]


def test_one_burst_is_insufficient(store: Store, requests: Requests) -> None:
    """Rows in few blocks of time give no interval, however many they are."""
    store.insert_arrow("requests", requests(1000, seed=1))
    store.insert_arrow("requests", requests(1000, seed=2, start=NOON + QUARTER, minutes=2))
    report = why(store)

    assert "INSUFFICIENT" == report.verdict.word
    assert "lie in 3 of its blocks of time and node; 8 are needed" in report.verdict.reason


def test_missing_stage_is_said_and_stands_in_outside(store: Store, requests: Requests) -> None:
    """A stage that no request carries is listed as missing, and its time is unexplained, not lost."""
    for seed, start, factors in ((1, NOON, {}), (2, NOON + QUARTER, {"prefill": 1.8})):
        table = requests(1500, seed=seed, start=start, factors=factors, missing={"prefill": 1.0})
        store.insert_arrow("requests", table)
    body = why(store).as_dict()

    assert "GLOBAL" == body["verdict"]
    assert "prefill" not in body["stages"]
    assert {"prefill": {"baseline": 1.0, "current": 1.0}} == body["checks"]["missing_stages"]
    assert body["tail_accounting_ms"]["outside"] > 0.5 * body["delta_ms"]
    assert "not observed here: prefill; their time stands in outside" in body["checks"]["notes"]


def test_stage_observed_on_one_side_is_not_compared(store: Store, requests: Requests) -> None:
    """Switching a sensor off between the windows must not look like a stage that vanished."""
    fill(store, requests, missing={"prefill": 1.0})
    body = why(store).as_dict()

    assert "prefill" not in body["stages"]
    assert abs(body["tail_accounting_ms"]["outside"]) < 0.2 * body["baseline"]["ms"]
    assert (
        "prefill is observed on 100 % of the baseline and 0 % of the current requests:"
        " counted as outside in both" in body["checks"]["notes"]
    )


def test_workload_and_load_are_spoken_of(store: Store, requests: Requests) -> None:
    """Twice the requests/s with prompts of another length: both stand under what speaks against."""
    before, after = requests(2000, seed=1), requests(4000, seed=2, start=NOON + QUARTER)
    store.insert_arrow("requests", before)
    longer = after["prompt_tokens"].to_numpy() * np.uint32(2)
    store.insert_arrow("requests", replaced(after, "prompt_tokens", longer))
    notes = " ".join(why(store).notes)

    assert "requests/s went 2.22 → 4.44" in notes
    assert "prompt tokens a request went " in notes


def test_same_input_same_bytes(store: Store, requests: Requests) -> None:
    """Asked twice, and of a second store filled in another order, the report is the same to the byte."""
    before, after = fill(store, requests, n=(800, 900), factors={"prefill": 2.0}, nodes=("a", "b"))
    first = json.dumps(why(store).as_dict())
    assert first == json.dumps(why(store).as_dict())

    store.command("TRUNCATE TABLE requests")
    for table in (after, before):
        shuffled = np.random.default_rng(1).permutation(table.num_rows)
        store.insert_arrow("requests", table.take(pa.array(shuffled)))
    assert first == json.dumps(why(store).as_dict())


def test_hash_is_of_everything_else(store: Store, requests: Requests) -> None:
    """`hash` is the SHA-256 of the compact JSON without it, so anyone can check a report."""
    fill(store, requests, n=(600, 600))
    body = why(store).as_dict()
    claimed = body.pop("hash")
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))

    assert hashlib.sha256(text.encode()).hexdigest() == claimed


def test_json_keys(store: Store, requests: Requests) -> None:
    """The contract's keys, in its order."""
    fill(store, requests, n=(600, 600))
    body = why(store).as_dict()

    expected = (
        "schema verdict headline metric quantile definition baseline current delta_ms delta_ci_ms"
        " p_regression stages layers workload_ms load_ms unexplained_ms slice evidence exemplars"
        " tail_accounting_ms deciding golden_ms matrix checks seed hash"
    )
    assert expected.split() == list(body)
    assert "otel-attrib/why/1" == body["schema"]
    assert list(LAYERS) == list(body["layers"])
    assert ["ms", "share", "p", "ci_ms"] == list(body["layers"]["pcie"])
    assert ["from", "to", "n", "ms"] == list(body["baseline"])
    assert ["ms", "ci_ms"] == list(body["stages"]["prefill"])
    assert RULE == body["checks"]["rule"]


def test_where_narrows_both_windows(store: Store, requests: Requests) -> None:
    """A fault of one model is not seen in the other."""
    after = requests(3000, seed=2, start=NOON + QUARTER)
    hit = np.array(after["model"].to_pylist()) == "m1"
    slower = after["ttft_us"].to_numpy() * np.where(hit, 3.0, 1.0)
    store.insert_arrow("requests", requests(3000, seed=1))
    store.insert_arrow("requests", replaced(after, "ttft_us", slower))

    assert "NO_REGRESSION" == why(store, where=["model=m0"]).verdict.word
    assert "GLOBAL" == why(store, where=["model=m1"]).verdict.word
    report = why(store, where=["model=m0", "tenant=acme"])
    assert {"model": "m0", "tenant": "acme"} == report.as_dict()["checks"]["where"]
    rows = zip(after["model"].to_pylist(), after["tenant"].to_pylist(), strict=True)
    assert list(rows).count(("m0", "acme")) == report.current.n


def test_a_mark_inside_the_window_divides_it(store: Store, requests: Requests) -> None:
    """A deploy at 12:20 makes the windows meet there, unless a baseline is named."""
    fill(store, requests)
    row = {"time": NOON + timedelta(minutes=20), "kind": "deploy", "name": "v2", "service": "chat"}
    time = pa.field("time", pa.timestamp("us", "UTC"))
    words = [pa.field(name, pa.string()) for name in ("kind", "name", "service")]
    store.insert_arrow("marks", pa.Table.from_pylist([row], pa.schema([time, *words])))
    report = why(store)

    assert "2026-05-01T12:20:00Z..2026-05-01T12:30:00Z" == str(report.current.window)
    assert "2026-05-01T12:05:00Z..2026-05-01T12:20:00Z" == str(report.baseline.window)
    assert "deploy v2 at 2026-05-01T12:20:00Z: compared before and after it" == report.notes[0]
    assert QUARTER == why(store, baseline="15m").current.window.length


def test_newest_reaches_the_newest_request(store: Store, requests: Requests) -> None:
    """`--at newest` includes the newest row, and an empty store says there is nothing to look back from."""
    with pytest.raises(DataError, match="no request stored: nothing to look back from"):
        why(store, at="newest")
    _, after = fill(store, requests, n=(600, 600))
    report = why(store, at="newest", window="1h", baseline="2h")

    assert 1200 == report.current.n
    assert after["time"][-1].as_py() + timedelta(microseconds=1) == report.current.window.end


def test_text_answers_first_and_fits(store: Store, requests: Requests) -> None:
    """The first line is the answer in milliseconds; no line is wider than 80 columns."""
    fill(store, requests, n=(1500, 1500), factors={"prefill": 1.8}, missing={"queue": 0.3})
    report = why(store)
    text = render(report)

    assert report.baseline.ms is not None and report.current.ms is not None
    assert text.startswith(f"P99 TTFT rose {report.baseline.ms:.0f} → {report.current.ms:.0f} ms (+")
    assert " prefill, layer not known" in " ".join(text.split("\n")[:2])
    assert "In which stage: change caused by the stage itself, at equal work" in text
    assert "TTFT: arrival at the server to first token written." in text
    assert max(map(len, text.splitlines())) <= 80


def test_text_of_what_cannot_be_judged(store: Store, requests: Requests) -> None:
    """Without rows the text says so instead of showing numbers."""
    store.insert_arrow("requests", requests(10, seed=1))

    assert render(why(store)).startswith(
        "P99 TTFT cannot be judged.\nINSUFFICIENT: 10 values in the baseline"
    )
