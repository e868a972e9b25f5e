"""Leaf counts from the store lead to the slices that the rows themselves lead to."""

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.analytics.detection.counts import fetch_limits
from otel_attrib.analytics.fetch import fetch_period
from otel_attrib.analytics.filters import EVERY_REQUEST
from otel_attrib.analytics.limit_grid import LimitGrid
from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.slices import find_slices, scan
from otel_attrib.analytics.slices.pushdown import fetch_leaves, leaves_of_tables
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.migrate import migrate
from otel_attrib.schema.store import Store, open_store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
NUMBERS = itertools.count()
BASELINE = Window(NOON, NOON + timedelta(minutes=15))
CURRENT = Window(BASELINE.end, BASELINE.end + timedelta(minutes=15))
TTFT = METRICS["ttft"]


def requests(n: int) -> pa.Table:
    """Half an hour of requests of two models; in its second half one GPU of node b takes twice as long."""
    rng = np.random.default_rng(3)
    minute = np.sort(rng.random(n)) * 30
    node, gpu, model = rng.choice(["a", "b"], n), rng.choice(["0", "1", "2"], n), rng.choice(["m", "w"], n)
    prompt = rng.lognormal(6, 0.8, n).astype(np.uint32) + 1
    us = 1000 * (5 + 0.1 * prompt * np.where(model == "w", 3, 1)) * rng.lognormal(0, 0.3, n)
    us = np.where((minute >= 15) & (node == "b") & (gpu == "1"), 2 * us, us)
    return pa.table(
        {
            "time": pa.array(
                int(NOON.timestamp()) * 1_000_000 + (minute * 60e6).astype(np.int64),
                pa.timestamp("us", "UTC"),
            ),
            "trace_id": [f"{i:032x}" for i in range(n)],
            "service": ["chat"] * n,
            "model": model.tolist(),
            "node": node.tolist(),
            "gpu_set": gpu.tolist(),
            "status": ["ok"] * n,
            "prompt_tokens": prompt,
            "output_tokens": pa.array(rng.integers(2, 300, n), pa.uint32()),
            "ttft_us": us,
            "e2e_us": us + 10_000.0 * rng.integers(2, 300, n),
        }
    )


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    """A store with the requests."""
    with open_store(f"chdb://memory/leaves_{next(NUMBERS)}") as opened:
        migrate(opened)
        opened.insert_arrow("requests", requests(40_000))
        yield opened


@pytest.fixture(scope="module")
def limits(store: Store) -> LimitGrid:
    """The baseline's limits of TTFT."""
    return fetch_limits(store, TTFT, BASELINE, EVERY_REQUEST, 0.99)


def test_leaf_counts_find_what_rows_find(store: Store, limits: LimitGrid) -> None:
    """The slice is the GPU that was slowed, from leaf counts as from rows, with nearly equal numbers."""
    leaves = fetch_leaves(store, TTFT, BASELINE, CURRENT, EVERY_REQUEST, limits)
    rows = [fetch_period(store, TTFT, window).rows for window in (BASELINE, CURRENT)]

    (counted,), (fetched,) = scan(leaves, 0.99).slices, find_slices(rows[0], rows[1], 0.99).slices

    assert {"gpu": "b:1"} == counted.where == fetched.where
    assert counted.requests == pytest.approx(fetched.requests, rel=0.01)
    assert counted.exceedances == pytest.approx(fetched.exceedances, rel=0.1)
    assert counted.share_of_excess == pytest.approx(fetched.share_of_excess, abs=0.1)


def test_counts_are_the_rows(store: Store, limits: LimitGrid) -> None:
    """Every request of work that the baseline has is counted once, and 1 % of the baseline's exceed."""
    leaves = fetch_leaves(store, TTFT, BASELINE, CURRENT, EVERY_REQUEST, limits)
    early = leaves.block < leaves.early

    assert 0.995 * 40_000 < leaves.n.sum() <= 40_000
    assert leaves.exceed[early].sum() / leaves.n[early].sum() == pytest.approx(0.01, abs=0.0015)
    assert (20, 40) == (leaves.early, leaves.blocks)


def test_e2e_has_limits_by_both_sizes(store: Store) -> None:
    """E2E is judged by the output too: 1 % of the baseline exceed among short and among long answers."""
    grid = fetch_limits(store, METRICS["e2e"], BASELINE, EVERY_REQUEST, 0.99)
    sql = f"""
        SELECT output_tokens > 150 AS long, avg(e2e_us > limit) AS share
        FROM (SELECT output_tokens, e2e_us, {grid.sql()} AS limit FROM requests
              WHERE time < fromUnixTimestamp64Micro({{to_us:Int64}}, 'UTC')) WHERE limit >= 0 GROUP BY long
    """

    shares = store.rows(sql, {**grid.parameters(), **BASELINE.bounds_us()})

    assert 2 == len(shares)
    assert all(0.005 < row["share"] < 0.017 for row in shares)


def test_unknown_models_are_not_counted(store: Store, limits: LimitGrid) -> None:
    """A model that the baseline does not have gets no limit."""
    sql = f"SELECT {limits.sql()} AS us FROM (SELECT 'new' AS model, toUInt32(500) AS prompt_tokens)"

    assert [{"us": -1.0}] == store.rows(sql, limits.parameters())


def test_tables_of_counts_need_no_store() -> None:
    """Leaves of plain tables: blocks keep apart the windows, whatever numbers they carry."""
    table = pa.table({"tenant": ["x", "y"], "block": [4, 9], "n": [10, 20], "exceed": [0, 1]})

    leaves = leaves_of_tables(table, table)

    assert [0, 1, 2, 3] == leaves.block.tolist()
    assert (2, 4, ["tenant"]) == (leaves.early, leaves.blocks, list(leaves.dims))
    assert 60 == leaves.n.sum()
