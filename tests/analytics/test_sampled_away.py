"""Rows that stand for several requests answer for those, and are no more certain than rows."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.analytics import harrell_davis
from otel_attrib.analytics.copies import copies
from otel_attrib.analytics.detection.counts import fetch_bins, fetch_limits
from otel_attrib.analytics.fetch import fetch_pair, fetch_period
from otel_attrib.analytics.filters import EVERY_REQUEST, ROLLED_UP
from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.overview import overview
from otel_attrib.analytics.quantiles import Sliding, slide
from otel_attrib.analytics.question import pose
from otel_attrib.analytics.report import Report
from otel_attrib.analytics.report_text import render
from otel_attrib.analytics.slices.pushdown import fetch_leaves
from otel_attrib.analytics.stage_table import stage_table
from otel_attrib.analytics.why import explain
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
QUARTER = timedelta(minutes=15)
WINDOW, LATER = Window(NOON, NOON + QUARTER), Window(NOON + QUARTER, NOON + 2 * QUARTER)
Requests = Callable[..., pa.Table]


def weighted(table: pa.Table, seed: int = 5) -> pa.Table:
    """The requests with weights of 1 to 4."""
    weights = np.random.default_rng(seed).integers(1, 5, len(table)).astype(np.uint32)
    return table.append_column("weight", pa.array(weights))


def stood_for(table: pa.Table) -> pa.Table:
    """Each request as often as its weight says, of weight one."""
    places = np.repeat(np.arange(len(table)), table["weight"].to_numpy())
    return table.take(pa.array(places)).drop_columns("weight")


ANSWERS: dict[str, Callable[[Store], Any]] = {
    "quantiles": lambda store: slide(store, Sliding(METRICS["ttft"], 0.9, 60, 60, WINDOW, ("model",))),
    "quantiles exact": lambda store: [
        replace(point, few=False)
        for point in slide(store, Sliding(METRICS["ttft"], 0.9, 60, 60, WINDOW, ("model",), exact=True))
    ],
    "quantiles exact of gaps": lambda store: [
        (point.n, point.ms)
        for point in slide(store, Sliding(METRICS["tbt"], 0.9, 60, 60, WINDOW, exact=True))
    ],
    "top": lambda store: overview(store, WINDOW.end, 900, ["tenant"]),
    "stages": lambda store: [
        replace(row, mean=round(row.mean, 9)) if row.mean else row
        for row in stage_table(store, METRICS["ttft"], WINDOW, ["tenant"])
    ],
    "watch": lambda store: {
        series: (bins.n.tolist(), bins.exceed.tolist())
        for series, bins in fetch_bins(
            store,
            METRICS["ttft"],
            WINDOW,
            EVERY_REQUEST,
            fetch_limits(store, METRICS["ttft"], WINDOW, EVERY_REQUEST, 0.9),
        ).items()
    },
    "period": lambda store: np.sort(fetch_period(store, METRICS["ttft"], WINDOW).rows.values).tolist(),
    "displayed by rows": lambda store: (
        fetch_period(store, METRICS["ttft"], WINDOW, cap=300, states=False).displayed
    ),
    "displayed by states": lambda store: (
        fetch_period(store, METRICS["ttft"], WINDOW, cap=300, states=True).displayed
    ),
}


@pytest.mark.parametrize("question", ANSWERS)
def test_answers_are_those_of_the_requests_stood_for(store: Store, requests: Requests, question: str) -> None:
    """Every answer to weighted rows is the answer to each row stored as often as it counts."""
    table = weighted(requests(600, seed=3, gaps=True))
    answer = ANSWERS[question]
    store.insert_arrow("requests", table)
    found = answer(store)
    for name in ("requests", "requests_10s", "requests_60s"):
        store.command(f"TRUNCATE TABLE {name}")
    store.insert_arrow("requests", stood_for(table))

    assert answer(store) == found


def test_leaves_are_counted_by_weight(store: Store, requests: Requests) -> None:
    """Leaf counts in the store are the sums of the weights, in all and above the limits."""
    table = weighted(requests(2000, seed=3))
    store.insert_arrow("requests", table)
    limits = fetch_limits(store, METRICS["ttft"], WINDOW, EVERY_REQUEST, 0.9)
    later = Window(NOON - QUARTER, NOON)

    leaves = fetch_leaves(store, METRICS["ttft"], later, WINDOW, EVERY_REQUEST, limits)

    assert set(leaves.dims) <= {*ROLLED_UP, "gpu"}
    assert int(table["weight"].to_numpy().sum()) == pytest.approx(int(leaves.n.sum()), rel=0.02)
    assert 0.1 == pytest.approx(leaves.exceed.sum() / leaves.n.sum(), abs=0.02)


def ask(store: Store) -> Report:
    """Why the second quarter differs from the first."""
    return explain(store, pose(store, at="2026-05-01T12:30:00Z", baseline="before"))


@pytest.fixture
def sampled(store: Store, requests: Requests) -> tuple[pa.Table, pa.Table]:
    """Two quarters of 6000 requests, the second with prefill half as long again; one in ten rows is kept."""
    found = []
    for seed, start, factor in ((1, NOON, 1.0), (2, NOON + QUARTER, 1.5)):
        table = requests(6000, seed=seed, start=start, factors={"prefill": factor})
        ttft = table["ttft_us"].to_numpy()
        kept = (ttft > np.quantile(ttft, 0.95)) | (np.random.default_rng(seed).random(6000) < 0.1)
        weight = np.where(ttft > np.quantile(ttft, 0.95), 1, 10)[kept].astype(np.uint32)
        store.insert_arrow("requests", table.filter(pa.array(kept)).append_column("weight", pa.array(weight)))
        found.append(table)
    return found[0], found[1]


def test_why_of_a_tail_sampled_store(store: Store, sampled: tuple[pa.Table, pa.Table]) -> None:
    """The quantiles are those of all requests, the cause is found, and the report says what was left out."""
    report = ask(store)

    truth = [harrell_davis.quantile(table["ttft_us"].to_numpy() / 1000, 0.99) for table in sampled]
    assert truth == pytest.approx([report.baseline.ms, report.current.ms], rel=0.03)
    assert [6000, 6000] == pytest.approx([report.baseline.n, report.current.n], rel=0.1)
    assert report.delta is not None
    assert report.delta.interval()[0] < truth[1] - truth[0] < report.delta.interval()[1]
    assert report.stages["prefill"].value > 0.9 * report.delta.value
    away = report.checks["sampled_away"]
    assert [0.85, 0.85] == pytest.approx([away["baseline"], away["current"]], abs=0.02)
    assert "were sampled away: those kept count for them" in " ".join(render(report).split())
    assert "sampled away" in report.checks["replay"] or "not needed" in report.checks["replay"]
    ids = [exemplar.trace_id for exemplar in report.exemplars]
    assert len(set(ids)) == len(ids) > 0


def test_a_verdict_needs_rows_not_weights(store: Store, requests: Requests) -> None:
    """Two hundred rows for twenty requests each are 4000, and two rows above P99: too few to judge."""
    for seed, start in ((1, NOON), (2, NOON + QUARTER)):
        table = requests(200, seed=seed, start=start)
        store.insert_arrow(
            "requests", table.append_column("weight", pa.array(np.full(200, 20, dtype=np.uint32)))
        )

    report = ask(store)

    assert (4000, 4000) == (report.baseline.n, report.current.n)
    assert "INSUFFICIENT" == report.verdict.word
    assert "each stored one for 20, leave 2 above P99" in report.verdict.reason
    assert {"baseline": 2.0, "current": 2.0} == report.checks["rows_above"]


def test_few_counts_rows(store: Store, requests: Requests) -> None:
    """A window of 200 rows for twenty requests each is flagged as having few values above P99."""
    table = requests(200, seed=1, minutes=1)
    store.insert_arrow("requests", table.append_column("weight", pa.array(np.full(200, 20, dtype=np.uint32))))
    asked = Sliding(METRICS["ttft"], 0.99, 60, 60, Window(NOON, NOON + timedelta(minutes=1)), exact=True)

    assert [(4000, True)] == [(point.n, point.few) for point in slide(store, asked)]


def test_nothing_is_said_without_weights(store: Store, requests: Requests) -> None:
    """Where nothing was sampled away the report does not speak of it."""
    for seed, start in ((1, NOON), (2, NOON + QUARTER)):
        store.insert_arrow("requests", requests(1500, seed=seed, start=start))
    report = ask(store)

    assert "sampled_away" not in report.checks
    assert "sampled away" not in render(report)


def test_upper_rows_are_weighed(store: Store, sampled: tuple[pa.Table, pa.Table]) -> None:
    """Of a window above the cap the rows that can matter are fetched as often as they count."""
    metric = METRICS["ttft"]
    _, current = fetch_pair(
        store, metric, (WINDOW, LATER), (EVERY_REQUEST, EVERY_REQUEST), cap=2000, states=False
    )

    assert current.upper is not None
    floor = current.upper.floor_ms
    rows = store.rows(
        "SELECT sum(weight) AS n FROM requests WHERE ttft_us >= {floor:Float64} * 1000 "
        "AND time >= toDateTime64('2026-05-01 12:15:00', 6, 'UTC')",
        {"floor": floor},
    )
    assert current.upper.rows.n >= rows[0]["n"] > 0


SEEDS = 300
REQUESTS = 4000


def tail_sampled(seed: int, level: float) -> tuple[float, float, float]:
    """The quantile of a full stream, of its tail sample with weights, and of that without."""
    chance = np.random.default_rng(seed)
    values = np.where(chance.random(REQUESTS) < 0.04, 4.0, 1.0) * chance.lognormal(5, 0.6, REQUESTS)
    slow = values > 450.0  # a limit given beforehand, about the slowest 7 %
    kept = slow | (chance.random(REQUESTS) < 0.1)
    weights = np.where(slow, 1, 10)[kept]
    return (
        harrell_davis.quantile(values, level),
        harrell_davis.quantile(copies(values[kept], weights), level),
        harrell_davis.quantile(values[kept], level),
    )


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_tail_sampled_quantiles_are_unbiased(level: float) -> None:
    """Over many streams the weighted quantile of a tail sample lies as often above the full one as below.

    The mean difference is within 3.5 standard errors of nought (and under 0.5 % of the quantile); without the
    weights the same sample is off by more than a fifth, so the test could fail.
    """
    found = np.array([tail_sampled(seed, level) for seed in range(SEEDS)])
    full, weighed, naive = found.T
    error = (weighed - full).std(ddof=1) / SEEDS**0.5

    assert abs((weighed - full).mean()) < max(3.5 * error, 1e-3 * full.mean())
    assert abs((weighed - full).mean()) < 0.005 * full.mean()
    assert (naive - full).mean() > 0.2 * full.mean()
