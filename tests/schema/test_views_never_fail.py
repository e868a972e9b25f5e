"""Whatever a span or a row holds, no view throws: that would refuse a block which is half written."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.schema.ingest import insert_traces
from otel_attrib.schema.migration import migrations
from otel_attrib.schema.store import Store

Spans = Callable[..., bytes]

NUMBERS = [0.0, -0.0, 0.5, 1.0, 999.9, 1e3, 1e9, 1e14, -1.0, -1e9]
ODD = [math.nan, math.inf, -math.inf, 1e15, 1e18, 1e300, 1.79e308, -1e18, -1e308, 5e-324, None]
WORDS = [
    *("", " ", "nan", "inf", "-inf", "-1", "1e18", "1e400", "0x10", "true", "NULL", "\x00"),
    *(":", "1:", ":1", "1:1", "1:1 1:1 x", "4294967295:4294967295", "-1:-1", "1500:65536 1501:70000"),
    *("AAAA", "AAAAAAAA", "/////w==", "====", "not base64", " " * 50, "A" * 9999, "ü" * 300, "9" * 400),
]
WHOLE: list[Any] = [True, None, 2**63 - 1, -(2**63), b"\xff\x00", [], {}, [1, [2]]]
VALUES = [*WORDS, *(one for one in ODD if one is not None), *NUMBERS, *WHOLE]
STATES = [
    "",
    "ot=th:0",
    "ot=th:ffffffffffffff",
    "ot=th:" + "0" * 14,
    "=",
    "ot=th:8;" * 40,
    "ot=rv:x,\x01",
    "ü",
]
COUNTED = """
SELECT
    (SELECT sum(requests) FROM requests_10s) AS tens,
    (SELECT sum(requests) FROM requests_60s) AS minutes,
    (SELECT sum(requests) FROM latency_histogram) AS ever,
    (SELECT arraySum(sumMap(ttft_bins).2) FROM requests_60s) AS ttft_bins,
    (SELECT arraySum(sumMap(tbt_bins).2) FROM requests_60s) AS tbt_bins,
    (SELECT arraySum(mapValues(sumMap(ttft))) FROM latency_histogram) AS ttft_ever,
    (SELECT arraySum(mapValues(sumMap(tbt))) FROM latency_histogram) AS tbt_ever,
    (SELECT isFinite(sum(ttft_us)) AND isFinite(sum(tbt_us)) FROM latency_histogram) AS finite
"""


def odd_rows(seed: int, count: int) -> pa.Table:
    """Rows as no program of ours writes them."""
    chance = np.random.default_rng(seed)

    def times() -> pa.Array:
        pool = NUMBERS + ODD
        return pa.array([pool[n] for n in chance.integers(0, len(pool), count)], pa.float64())

    gaps = [chance.choice(NUMBERS, chance.integers(0, 9)).tolist() for _ in range(count)]
    gaps[: len(ODD)] = [[1.0, math.nan if one is None else float(np.clip(one, -3e38, 3e38))] for one in ODD]
    gaps[-2:] = [[math.inf, 1.0], [-math.inf, math.inf]]
    weights = chance.choice([0, 1, 1, 1, 2, 1000, 10**6, 2**32 - 1], count)
    stamps = chance.choice([0, -1, 1_767_268_800_000_000, 2**32 * 10**6, -(2 * 10**15), 9 * 10**15], count)
    return pa.table(
        {
            "time": pa.array(stamps, pa.int64()).cast(pa.timestamp("us", "UTC")),
            "service": [WORDS[n % len(WORDS)] for n in range(count)],
            "status": [("ok", "error", "", "\x00")[n % 4] for n in range(count)],
            "weight": pa.array(weights, pa.uint32()),
            "prompt_tokens": pa.array([2**32 - 1] * count, pa.uint32()),
            "gaps_us": pa.array(gaps, pa.list_(pa.float32())),
            **{
                f"{name}_us": times()
                for name in (
                    "ttft",
                    "tpot",
                    "e2e",
                    "ingress",
                    "queue",
                    "prefill",
                    "egress",
                    "outside",
                    "gap_mean",
                )
            },
        }
    )


@pytest.mark.parametrize("seed", range(2))
def test_rows_that_somebody_else_wrote(store: Store, seed: int) -> None:
    """Rows with any number, none, and any weight are taken; what is a time counts as often as they say."""
    table = odd_rows(seed, 200)

    store.insert_arrow("requests", table)

    rows = table.to_pylist()
    good = [row for row in rows if row["ttft_us"] is not None and abs(row["ttft_us"]) < 1e200]
    sound = [row for row in rows if all(map(math.isfinite, row["gaps_us"]))]
    gaps = sum(row["weight"] * len(row["gaps_us"]) for row in sound)
    believed = sum(min(row["weight"], 1000) for row in rows)
    assert 0 < len(good) < len(rows) and 0 < len(sound) < len(rows)
    assert [
        {
            "tens": believed,
            "minutes": believed,
            "ever": sum(row["weight"] for row in rows),
            "ttft_bins": sum(row["weight"] for row in good),
            "tbt_bins": gaps,
            "ttft_ever": sum(row["weight"] for row in good if row["status"] == "ok"),
            "tbt_ever": sum(row["weight"] * len(row["gaps_us"]) for row in sound if row["status"] == "ok"),
            "finite": 1,
        }
    ] == store.rows(COUNTED)


@pytest.mark.parametrize("value", [*ODD, *NUMBERS])
def test_one_odd_row_alone(store: Store, value: float | None) -> None:
    """A block of one row is taken whatever its times are, the same number in all of them."""
    at = pa.array([1_767_268_800_000_000], pa.int64()).cast(pa.timestamp("us", "UTC"))
    times = {f"{name}_us": pa.array([value], pa.float64()) for name in ("ttft", "tpot", "e2e", "queue")}
    gap = math.nan if value is None else float(np.clip(value, -3.4e38, 3.4e38))

    store.insert_arrow(
        "requests",
        pa.table(
            {"time": at, "status": ["ok"], "gaps_us": pa.array([[gap]], pa.list_(pa.float32())), **times}
        ),
    )

    (found,) = store.rows(COUNTED)
    assert (1, 1, 1) == (found["tens"], found["minutes"], found["ever"])


def attributes() -> list[str]:
    """Every attribute that the view of requests reads, by its own text."""
    (view,) = (one.text for one in migrations() if one.name == "weight")
    (names,) = re.findall(r"transform\(name, \[(.*?)\], range", view, re.DOTALL)
    return re.findall(r"'([\w.]+)'", names)


@pytest.mark.parametrize("seed", range(3))
def test_spans_with_anything_in_them(store: Store, spans: Spans, seed: int) -> None:
    """Spans whose attributes, times and states hold anything become a request each, counted everywhere."""
    chance, names = np.random.default_rng(seed), attributes()
    assert len(names) > 70

    def one() -> dict[str, Any]:
        kept = [name for name in names if name != "slatag.shim" and chance.random() < 0.7]
        return {name: VALUES[chance.integers(len(VALUES))] for name in kept}

    starts = [0, 1, 1_767_268_800_000_000_000, 2**63 - 1, 2**63, 2**64 - 10**12]
    blocks = [
        spans(*[one() for _ in range(12)], start_ns=start, trace_state=state, step_ns=1, duration_ns=duration)
        for start, state, duration in zip(starts, STATES, (0, 1, -5, 10, 0, 10**11), strict=False)
    ]

    insert_traces(store, blocks, token="any")

    (rows,) = store.rows("SELECT count() AS n, sum(weight) AS stands_for, max(weight) AS most FROM requests")
    (found,) = store.rows(COUNTED)
    assert (72, True) == (rows["n"], rows["most"] <= 1000)
    assert {rows["stands_for"]} == {found["tens"], found["minutes"], found["ever"]}
    assert 72 == store.rows("SELECT count() AS n FROM otel_traces")[0]["n"]
