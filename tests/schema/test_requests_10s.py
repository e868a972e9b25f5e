"""The 10 s states answer every quantile, of any set of rows, within 1 %."""

from collections.abc import Callable

import numpy as np
import pytest

from otel_attrib.schema.ingest import insert_traces
from otel_attrib.schema.store import Store

Spans = Callable[..., bytes]
Shape = Callable[[np.random.Generator, int], "np.ndarray[tuple[int], np.dtype[np.float64]]"]

SHAPES: dict[str, Shape] = {
    "lognormal": lambda chance, n: chance.lognormal(10, 1.2, n),
    "heavy tail": lambda chance, n: 1e4 * (1 + chance.pareto(1.3, n)),
    "two modes": lambda chance, n: np.concatenate(
        [chance.normal(2e4, 500, n // 2), chance.normal(9e5, 9e3, n - n // 2)]
    ),
    "constant": lambda chance, n: np.full(n, 12_345.6),
    "tiny": lambda chance, n: chance.uniform(0.01, 3, n),
}
LEVELS = (0.5, 0.9, 0.99, 0.999)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_level_of_merged_states(store: Store, spans: Spans, shape: str) -> None:
    """States of many buckets and tenants, merged, give the order statistic within 1 %, at any level."""
    values = SHAPES[shape](np.random.default_rng(1), 4000)
    rows = [
        {"slatag.first_byte_latency_us": float(value), "slatag.tenant": f"t{number % 7}"}
        for number, value in enumerate(values)
    ]
    for first in range(0, len(rows), 1000):
        insert_traces(store, [spans(*rows[first : first + 1000], step_ns=50_000_000)], token=str(first))

    merged = ", ".join(f"quantileDDMerge(0.01, {level})(ttft)" for level in LEVELS)
    (row,) = store.rows(
        f"SELECT [{merged}] AS found, uniqExact(bucket) AS buckets, count() AS states FROM requests_10s"
    )

    assert (5, True) == (row["buckets"], row["states"] >= 35)
    for level, found in zip(LEVELS, row["found"], strict=True):
        assert pytest.approx(np.quantile(values, level, method="lower"), rel=0.0101) == found


def test_sums(store: Store, spans: Spans) -> None:
    """Counts and sums are exact; a stage that was not observed counts for nothing."""
    insert_traces(
        store,
        [
            spans(
                {"slatag.stage.queue_us": 10.0, "gen_ai.usage.input_tokens": 5, "slatag.status": "error"},
                {"slatag.stage.queue_us": 30.0, "gen_ai.usage.output_tokens": 7, "slatag.status": "timeout"},
                {"slatag.status": "aborted"},
            )
        ],
        token="t",
    )

    (row,) = store.rows(
        "SELECT sum(requests) AS requests, sum(errors) AS errors, sum(prompt_tokens) AS prompt, "
        "sum(output_tokens) AS output, sum(queue_us_sum) AS queue, sum(queue_us_count) AS queued, "
        "sum(prefill_us_count) AS prefilled FROM requests_10s"
    )
    assert {
        "requests": 3,
        "errors": 2,
        "prompt": 5,
        "output": 7,
        "queue": 40.0,
        "queued": 2,
        "prefilled": 0,
    } == row


def test_gaps_of_all_requests(store: Store, spans: Spans) -> None:
    """The state of TBT is over single gaps: a request counts as often as it has gaps."""
    insert_traces(
        store,
        [spans({"slatag.token_gap.sketch": "350:99"}, {"slatag.token_gap.sketch": "600:1"}, {})],
        token="t",
    )

    (row,) = store.rows(
        "SELECT quantileDDMerge(0.01, 0.5)(tbt) AS half, quantileDDMerge(0.01, 1)(tbt) AS most "
        "FROM requests_10s"
    )
    # Each bucket within 1 %, and the state's own bucket within 1 % of that.
    assert pytest.approx((1.02**349.5, 1.02**599.5), rel=0.0202) == (row["half"], row["most"])


def test_buckets_are_ten_seconds_of_utc(store: Store, spans: Spans) -> None:
    """A request belongs to the ten seconds in which it arrived."""
    insert_traces(store, [spans({}, {}, {}, step_ns=9_999_999_000)], token="t")

    rows = store.rows(
        "SELECT toString(bucket) AS at, sum(requests) AS n FROM requests_10s GROUP BY bucket ORDER BY at"
    )
    assert [("2026-01-01 12:00:00", 2), ("2026-01-01 12:00:10", 1)] == [(row["at"], row["n"]) for row in rows]
