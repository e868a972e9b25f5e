"""`top`: groups, their change, and a tail that adds up to the number beside it; the stage table."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.analytics.filters import parse_filter
from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.overview import overview
from otel_attrib.analytics.stage_table import stage_table
from otel_attrib.analytics.windows import Window
from otel_attrib.errors import UsageError
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
QUARTER = timedelta(minutes=15)
Requests = Callable[..., pa.Table]


def test_groups_against_the_rows(store: Store, requests: Requests) -> None:
    """Counts, rates and quantiles of each group are those of its rows, quantiles within 1 %."""
    table = requests(2000, seed=1)
    store.insert_arrow("requests", table)
    groups = overview(store, NOON + QUARTER, 900, ("model", "tenant"))

    assert 2000 == sum(group.requests for group in groups)
    assert [group.ttft_p99 for group in groups] == sorted(
        (g.ttft_p99 for g in groups), key=lambda p: -(p or 0)
    )
    models, tenants = (np.array(table[name].to_pylist()) for name in ("model", "tenant"))
    for group in groups:
        rows = (models == group.key[0]) & (tenants == group.key[1])
        assert (rows.sum(), rows.sum() / 900) == (group.requests, group.per_second)
        for name, actual in (("ttft", group.ttft_p99), ("tpot", group.tpot_p99)):
            expected = float(np.quantile(table[f"{name}_us"].to_numpy()[rows], 0.99, method="lower")) / 1000
            assert actual is not None
            assert abs(actual / expected - 1) <= 0.01 + 1e-12


def test_tail_adds_up_to_the_p99_shown(store: Store, requests: Requests) -> None:
    """The stages of a group's tail, outside included, add up to the P99 displayed (1e-9 relative)."""
    store.insert_arrow("requests", requests(5000, seed=2))

    for group in overview(store, NOON + QUARTER, 900, ("model",)):
        assert group.ttft_p99 == pytest.approx(sum(group.tail.values()), rel=1e-9)
        assert "prefill" == next(iter(group.tail))


def test_change_is_against_the_window_before(store: Store, requests: Requests) -> None:
    """Everything twice as slow is +100 % within the sketch's error; without a window before it is unknown."""
    table = requests(1000, seed=3)
    store.insert_arrow("requests", table)
    (first,) = overview(store, NOON + QUARTER, 900, ("service",))
    later = pa.array([time + QUARTER for time in table["time"].to_pylist()], pa.timestamp("us", "UTC"))
    doubled = pa.array(table["ttft_us"].to_numpy() * 2)
    for name, column in (("time", later), ("ttft_us", doubled)):
        table = table.set_column(table.column_names.index(name), name, column)
    store.insert_arrow("requests", table)
    (second,) = overview(store, NOON + 2 * QUARTER, 900, ("service",))

    assert first.change is None
    assert second.change is not None and 0.96 < second.change < 1.04


def test_failures_are_counted(store: Store, requests: Requests) -> None:
    """Failed requests are a share of all, and without a first token they leave no number."""
    table = requests(40, seed=4)
    names = [name for name in table.column_names if not name.endswith("_us") and name != "status"]
    failed = table.select(names).append_column("status", pa.array(["error"] * 40))
    store.insert_arrow("requests", failed)
    (group,) = overview(store, NOON + QUARTER, 900, ("service",))

    assert (40, 1.0, None, None, {}) == (
        group.requests,
        group.failed,
        group.ttft_p99,
        group.tpot_p50,
        group.tail,
    )


def test_where_and_by_take_rolled_up_dimensions_only(store: Store) -> None:
    """A dimension without states, or none at all, is refused by name."""
    with pytest.raises(UsageError, match="no dimension 'status' here"):
        overview(store, NOON, 60, ("status",))
    with pytest.raises(UsageError, match="no dimension 'status' here"):
        overview(store, NOON, 60, ("model",), parse_filter(["status=ok"]))
    with pytest.raises(UsageError, match="at least one dimension"):
        overview(store, NOON, 60, ())


@pytest.mark.parametrize("metric", ["ttft", "tpot", "e2e"])
def test_stage_table_against_the_rows(store: Store, requests: Requests, metric: str) -> None:
    """Means are numpy's; median and P99 are within 1 % of its order statistics; stages keep their order."""
    table = requests(800, seed=5)
    store.insert_arrow("requests", table)
    rows = stage_table(store, METRICS[metric], Window(NOON, NOON + QUARTER))

    assert METRICS[metric].stages == tuple(row.stage for row in rows)
    tokens = table["output_tokens"].to_numpy() - 1.0
    for row in rows:
        column = f"decode_{row.stage}_us" if metric == "tpot" else f"{row.stage}_us"
        us = table[column].to_numpy() * (tokens if metric == "e2e" and "decode" in row.stage else 1)
        assert (800, 0.0) == (row.requests, row.missing)
        assert us.mean() / 1000 == pytest.approx(row.mean, rel=1e-12)
        for level, actual in ((0.5, row.p50), (0.99, row.p99)):
            expected = float(np.quantile(us, level, method="lower")) / 1000
            assert actual is not None
            assert abs(actual / expected - 1) <= 0.01 + 1e-12


def test_missing_stages_have_a_share_and_no_zero(store: Store, requests: Requests) -> None:
    """A stage missing everywhere has no numbers; one missing on some rows is averaged over the others."""
    table = requests(500, seed=6, missing={"tokenize": 1.0, "queue": 0.4})
    store.insert_arrow("requests", table)
    rows = {row.stage: row for row in stage_table(store, METRICS["ttft"], Window(NOON, NOON + QUARTER))}

    unseen, partial = rows["tokenize"], rows["queue"]
    assert (1.0, None, None, None) == (unseen.missing, unseen.mean, unseen.p50, unseen.p99)
    observed = table["queue_us"].drop_null().to_numpy()
    assert 1 - observed.size / 500 == pytest.approx(partial.missing)
    assert observed.mean() / 1000 == pytest.approx(partial.mean)
