"""What comes of a window: all of a small one, and of a large one a sample that says what it is."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.analytics import harrell_davis
from otel_attrib.analytics.counted import counts_of
from otel_attrib.analytics.fetch import fetch_period
from otel_attrib.analytics.filters import parse_filter
from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.period import rows_of
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
QUARTER = Window(NOON, NOON + timedelta(minutes=15))
Requests = Callable[..., pa.Table]


@pytest.mark.parametrize("metric", METRICS)
def test_small_window_comes_whole(store: Store, requests: Requests, metric: str) -> None:
    """Every value is there, in order of time, with the numbers that were stored."""
    table = requests(500, seed=3, gaps=True, nodes=("n0", "n1"))
    store.insert_arrow("requests", table)
    period = fetch_period(store, METRICS[metric], QUARTER)
    expected = rows_of(table, METRICS[metric])

    assert ("all rows", None, expected.n) == (period.way, period.displayed, period.rows.total)
    assert np.array_equal(expected.values, period.rows.values)
    assert np.array_equal(expected.time_us, period.rows.time_us)
    assert expected.trace_ids.tolist() == period.rows.trace_ids.tolist()
    assert expected.dims["node"].words().tolist() == period.rows.dims["node"].words().tolist()


@pytest.mark.parametrize("metric", METRICS)
def test_counts_at_hand_are_those_of_the_store(store: Store, requests: Requests, metric: str) -> None:
    """Counting the fetched table gives what counting in SQL gives."""
    store.insert_arrow("requests", requests(500, seed=3, gaps=True, missing={"tokenize": 0.3}))
    chosen = METRICS[metric]
    counted = counts_of(fetch_period(store, chosen, QUARTER), chosen)
    columns = {
        "requests": "count()",
        "failed": "countIf(status != 'ok')",
        "expected": f"countIf({chosen.expected})",
        "answered": f"countIf({chosen.expected} AND {chosen.values} > 0)",
        "prompt_tokens": "sum(prompt_tokens)",
        "output_tokens": "sum(output_tokens)",
        "measured": f"sum({chosen.values})",
    }
    (row,) = store.rows(
        f"SELECT {', '.join(f'{sql} AS n_{name}' for name, sql in columns.items())} FROM requests"
    )

    assert {name: row[f"n_{name}"] for name in columns} == {name: getattr(counted, name) for name in columns}
    missing = store.rows("SELECT countIf(tokenize_us IS NULL) / count() AS share FROM requests")[0]["share"]
    assert counted.missing.get("tokenize", missing) == pytest.approx(missing)


def test_filter_and_ends_of_the_window(store: Store, requests: Requests) -> None:
    """Only the tenant's requests, from the start on and before the end."""
    table = requests(2000, seed=3, minutes=30)
    store.insert_arrow("requests", table)
    window = Window(NOON + timedelta(minutes=10), NOON + timedelta(minutes=20))
    period = fetch_period(store, METRICS["ttft"], window, parse_filter(["tenant=acme"]))
    inside = [
        word
        for word, tenant, time in zip(
            table["trace_id"].to_pylist(), table["tenant"].to_pylist(), table["time"].to_pylist(), strict=True
        )
        if tenant == "acme" and window.start <= time < window.end
    ]

    assert inside == period.rows.trace_ids.tolist()


def test_empty_window(store: Store) -> None:
    """A window without requests is a period without rows."""
    period = fetch_period(store, METRICS["ttft"], QUARTER)

    assert (0, 0, 0) == (period.rows.n, len(period.steps), len(period.samples))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("states", [True, False], ids=["states", "rows"])
def test_large_window_is_a_sample_with_the_true_quantile(
    store: Store, requests: Requests, metric: str, states: bool
) -> None:
    """Below the cap, spread over all of the window, with its count and its quantile: exact from rows."""
    store.insert_arrow("requests", requests(6000, seed=3, gaps=True))
    whole = fetch_period(store, METRICS[metric], QUARTER, exact=True)
    cap = whole.rows.n // 4
    period = fetch_period(store, METRICS[metric], QUARTER, cap=cap, states=states)
    truth = harrell_davis.quantile(whole.rows.values, 0.99)

    assert cap // 2 < period.rows.n <= cap
    assert set(period.rows.trace_ids) < set(whole.rows.trace_ids)
    assert 20 == np.unique((period.rows.time_us - QUARTER.bounds_us()["from_us"]) // 45_000_000).size
    assert whole.rows.n == pytest.approx(period.rows.total, rel=0.05 if states and metric == "tbt" else 0)
    assert truth == pytest.approx(period.displayed, rel=0.02 if states else 1e-12)
    assert period.rows.total == counts_of(period, METRICS[metric]).measured


def test_states_serve_a_window_that_begins_within_one(store: Store, requests: Requests) -> None:
    """Ragged ends come from rows: the sketch is of the window asked for, within 1 % of its value."""
    table = requests(6000, seed=5)
    store.insert_arrow("requests", table)
    window = Window(NOON + timedelta(seconds=3.5), NOON + timedelta(minutes=9, seconds=47))
    period = fetch_period(store, METRICS["ttft"], window, cap=1000)
    times = np.array(table["time"].to_pylist())
    inside = np.sort(table["ttft_us"].to_numpy()[(times >= window.start) & (times < window.end)]) / 1000
    expected = inside[int(0.99 * (inside.size - 1))]

    assert inside.size == period.rows.total
    assert expected == pytest.approx(period.displayed, rel=0.01)


def test_same_bytes_twice(store: Store, requests: Requests) -> None:
    """Parts in another order, and merged, give the same sample."""
    table = requests(4000, seed=7)
    taken = []
    for pieces in ((0, 1500, 4000), (0, 4000)):
        for name in ("requests", "requests_10s", "requests_60s"):
            store.command(f"TRUNCATE TABLE {name}")
        for first, last in zip(pieces, pieces[1:], strict=False):
            store.insert_arrow("requests", table.slice(first, last - first))
        store.command("OPTIMIZE TABLE requests FINAL")
        taken.append(fetch_period(store, METRICS["ttft"], QUARTER, cap=900, states=False))

    assert taken[0].requests.equals(taken[1].requests)
    assert taken[0].displayed == taken[1].displayed


@pytest.mark.parametrize("values", ["equal", "two humps", "heavy"])
def test_quantile_of_rows_is_exact_for_odd_shapes(store: Store, requests: Requests, values: str) -> None:
    """All equal, two humps around the quantile, a tail without a mean: the whole window's quantile."""
    n = 5000
    rng = np.random.default_rng(4)
    us = {
        "equal": np.full(n, 700.0),
        "two humps": np.where(rng.random(n) < 0.01, 9e5, 1e3) + rng.random(n),
        "heavy": 1e3 / rng.random(n) ** 3,
    }[values]
    table = requests(n, seed=3)
    table = table.set_column(table.column_names.index("ttft_us"), "ttft_us", pa.array(us))
    store.insert_arrow("requests", table)
    period = fetch_period(store, METRICS["ttft"], QUARTER, cap=1000, states=False)

    assert harrell_davis.quantile(us / 1000, 0.99) == pytest.approx(period.displayed, rel=1e-12)


@pytest.mark.parametrize("spread_ms", [30, 40_000], ids=["one burst", "bursts"])
def test_bursts_are_sampled_within_the_cap(store: Store, requests: Requests, spread_ms: int) -> None:
    """Where all arrives in a few moments, the sample still holds rows, and no more than the cap."""
    n = 4000
    table = requests(n, seed=3)
    moments = np.sort(np.random.default_rng(1).integers(0, 3, n) * spread_ms + 200_000)
    times = pa.array([NOON + timedelta(milliseconds=int(ms)) for ms in moments], pa.timestamp("us", "UTC"))
    store.insert_arrow("requests", table.set_column(0, "time", times))
    period = fetch_period(store, METRICS["ttft"], QUARTER, cap=3000, states=False)

    assert 0 < period.rows.n <= 3000
    assert n == period.rows.total
    whole = table["ttft_us"].to_numpy() / 1000
    assert harrell_davis.quantile(whole, 0.99) == pytest.approx(period.displayed, rel=1e-12)
