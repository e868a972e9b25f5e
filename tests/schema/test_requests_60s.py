"""The minutes: an older store's rows are filled in, once, whatever interrupted it."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.schema import migrate as module
from otel_attrib.schema.migrate import migrate, plan
from otel_attrib.schema.migration import migrations
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
FOUND = """
SELECT
    minute, tenant,
    sum(requests) AS n,
    sumMap(ttft_bins) AS ttft, sumMap(tpot_bins) AS tpot, sumMap(tbt_bins) AS tbt, sumMap(e2e_bins) AS e2e,
    [quantileDDMerge(0.01, 0.5)(requests_60s.ttft), quantileDDMerge(0.01, 0.5)(requests_60s.tbt)] AS medians
FROM requests_60s GROUP BY minute, tenant ORDER BY minute, tenant
"""
BY_HAND = """
SELECT sum(weight) AS n, sum(weight * length(gaps_us)) AS gaps FROM requests
"""


@contextmanager
def up_to(version: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The program as it was before later migrations."""
    with monkeypatch.context() as older:
        kept = tuple(one for one in migrations() if one.version <= version)
        older.setattr(module, "migrations", lambda: kept)
        yield


def rows(n: int, seed: int) -> pa.Table:
    """Requests of two tenants over five minutes, with gaps and weights."""
    rng = np.random.default_rng(seed)
    ttft, gaps = rng.lognormal(11, 1, n), [rng.lognormal(9, 1, 1 + i % 7).tolist() for i in range(n)]
    times = [NOON + timedelta(microseconds=int(us)) for us in rng.integers(0, 300_000_000, n)]
    return pa.table(
        {
            "time": pa.array(times, pa.timestamp("us", "UTC")),
            "trace_id": [f"{seed}-{i}" for i in range(n)],
            "service": ["chat"] * n,
            "tenant": [("acme", "zen")[i % 2] for i in range(n)],
            "weight": rng.integers(1, 4, n).astype(np.uint32),
            "ttft_us": ttft,
            "tpot_us": pa.array(ttft / 50, mask=rng.random(n) < 0.3),
            "e2e_us": 3 * ttft,
            "gaps_us": pa.array(gaps, pa.list_(pa.float32())),
        }
    )


def test_an_older_stores_rows_are_filled_in(empty_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows from before the migration are in the minutes as those that come after it are."""
    before, after = rows(700, seed=1), rows(300, seed=2)
    with up_to(17, monkeypatch):
        migrate(empty_store)
        empty_store.insert_arrow("requests", before)
    migrate(empty_store)
    empty_store.insert_arrow("requests", after)
    upgraded = empty_store.rows(FOUND)

    for table in ("requests", "requests_10s", "requests_60s"):
        empty_store.command(f"TRUNCATE TABLE {table}")
    empty_store.insert_arrow("requests", before)
    empty_store.insert_arrow("requests", after)

    assert 10 == len(upgraded)
    assert empty_store.rows(FOUND) == upgraded
    (hand,) = empty_store.rows(BY_HAND)
    assert (hand["n"], hand["gaps"]) == (
        sum(row["n"] for row in upgraded),
        sum(sum(row["tbt"][1]) for row in upgraded),
    )


@pytest.mark.parametrize("left", [1, 4])
def test_an_interrupted_upgrade_counts_once(
    empty_store: Store, monkeypatch: pytest.MonkeyPatch, left: int
) -> None:
    """Wherever the filling was cut off, the next run leaves every row counted once."""
    with up_to(17, monkeypatch):
        migrate(empty_store)
        empty_store.insert_arrow("requests", rows(400, seed=3))
    with up_to(18, monkeypatch):
        for statement in plan(empty_store)[:-left]:
            empty_store.command(statement)
        migrate(empty_store)

    (hand,) = empty_store.rows(BY_HAND)
    found = empty_store.rows(FOUND)
    assert (hand["n"], hand["gaps"]) == (
        sum(row["n"] for row in found),
        sum(sum(row["tbt"][1]) for row in found),
    )
    assert hand["n"] == sum(sum(row["ttft"][1]) for row in found)


def test_nothing_is_left_of_the_filling(empty_store: Store) -> None:
    """The table that it goes through, and its view, are gone."""
    migrate(empty_store)

    names = "SELECT name FROM system.tables WHERE database = currentDatabase() AND name LIKE 'requests_60s%'"
    assert ["requests_60s", "requests_60s_bins_mv", "requests_60s_states_mv"] == sorted(
        row["name"] for row in empty_store.rows(names)
    )
