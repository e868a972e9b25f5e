"""The path over a whole window, from the rows that can matter: that it is the same as from all rows."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.analytics import harrell_davis
from otel_attrib.analytics.analysis import analyse
from otel_attrib.analytics.blocks import block_ids
from otel_attrib.analytics.change.decompose import decompose
from otel_attrib.analytics.change.path import walk
from otel_attrib.analytics.change.whole import over_whole
from otel_attrib.analytics.fetch import fetch_pair, fetch_period
from otel_attrib.analytics.filters import EVERY_REQUEST
from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
QUARTER = timedelta(minutes=15)
WINDOWS = Window(NOON, NOON + QUARTER), Window(NOON + QUARTER, NOON + 2 * QUARTER)
BOTH = EVERY_REQUEST, EVERY_REQUEST
Requests = Callable[..., pa.Table]
FAULTS = {
    "slower": {"prefill": 1.6, "decode_forward": 1.5},
    "faster": {"prefill": 0.7, "decode_forward": 0.6},
    "one slower, one faster": {"prefill": 1.5, "queue": 0.6, "decode_forward": 1.4, "decode_egress": 0.5},
    "nothing": {},
}


def fill(
    store: Store, requests: Requests, factors: Mapping[str, float], n: int = 12_000, gaps: bool = False
) -> None:
    """Store two quarters of which the second differs by `factors`."""
    for seed, factor in ((1, {}), (2, factors)):
        start = NOON + (seed - 1) * QUARTER
        more = {"start": start, "factors": factor, "nodes": ("a", "b"), "gaps": gaps}
        store.insert_arrow("requests", requests(n, seed=seed, **more))


@pytest.mark.parametrize("metric", ["ttft", "tpot", "e2e"])
@pytest.mark.parametrize("factors", FAULTS.values(), ids=FAULTS)
def test_rows_that_can_matter_give_the_path_of_all_rows(
    store: Store, requests: Requests, metric: str, factors: Mapping[str, float]
) -> None:
    """With the maps of the sample, the stages from a part of the rows are those from every row."""
    fill(store, requests, factors)
    chosen = METRICS[metric]
    baseline, current = fetch_pair(store, chosen, WINDOWS, BOTH, cap=5000, states=False)
    everything = fetch_period(store, chosen, WINDOWS[1], exact=True)
    blocks = [block_ids(period.rows, period.window) for period in (baseline, current)]
    assert baseline.displayed is not None and current.displayed is not None
    shown = baseline.displayed, current.displayed
    change = decompose(baseline.rows, current.rows, 0.99, blocks[0], blocks[1], shown)
    assert current.upper is not None
    whole = over_whole(change, baseline.rows, current.rows, current.upper, 0.99)
    expected = walk(change.back.restore(everything.rows), everything.rows.parts, 0.99)

    assert whole is not None
    assert current.upper.rows.n < everything.rows.n / 2
    assert expected.after == pytest.approx(whole.after.value, rel=1e-9)
    for name, ms in zip(everything.rows.names, expected.stages, strict=True):
        assert ms == pytest.approx(whole.stages[name].value, abs=1e-9 * expected.after)
    lines = [line.value for line in (*whole.stages.values(), whole.workload, whole.unexplained)]
    assert whole.delta.value == pytest.approx(sum(lines), abs=1e-9)


def test_a_missed_floor_gives_no_certificate(store: Store, requests: Requests) -> None:
    """Where rows that can matter were left out, it is noticed."""
    fill(store, requests, FAULTS["slower"])
    baseline, current = fetch_pair(store, METRICS["ttft"], WINDOWS, BOTH, cap=5000, states=False)
    blocks = [block_ids(period.rows, period.window) for period in (baseline, current)]
    assert baseline.displayed is not None and current.displayed is not None
    shown = baseline.displayed, current.displayed
    change = decompose(baseline.rows, current.rows, 0.99, blocks[0], blocks[1], shown)
    upper = current.upper
    assert upper is not None
    limit = harrell_davis.quantile(upper.rows.values, 0.8)
    rows = replace(upper.rows.take(upper.rows.values >= limit), total=upper.rows.total)
    fewer = replace(upper, rows=rows, floor_ms=limit)

    assert over_whole(change, baseline.rows, current.rows, fewer, 0.99) is None


@pytest.mark.parametrize("states", [True, False], ids=["states", "rows"])
def test_sampled_report_is_near_that_of_all_rows(store: Store, requests: Requests, states: bool) -> None:
    """The report says on which rows it stands; its change is exact or within 1 %, its main stage near."""
    fill(store, requests, FAULTS["slower"])
    ttft = METRICS["ttft"]
    whole = analyse(*fetch_pair(store, ttft, WINDOWS, BOTH, exact=True), metric=ttft)
    part = analyse(*fetch_pair(store, ttft, WINDOWS, BOTH, cap=8000, states=states), metric=ttft)
    assert whole.delta and part.delta and whole.current.ms and part.current.ms

    assert whole.current.ms == pytest.approx(part.current.ms, rel=0.011 if states else 1e-9)
    assert whole.stages["prefill"].value == pytest.approx(part.stages["prefill"].value, rel=0.1)
    assert (not states) == part.checks["certificate"]
    assert whole.current.n == part.current.n
    lines = sum(line.value for line in part.stages.values())
    assert part.workload and part.load and part.stages_unexplained
    rest = part.workload.value + part.load.value + part.stages_unexplained.value
    assert part.delta.value == pytest.approx(lines + rest, abs=1e-6)


def test_a_question_fits_a_small_memory(store: Store, requests: Requests) -> None:
    """No statement over a window holds its rows: all of them run in 64 MiB."""
    fill(store, requests, FAULTS["slower"], n=60_000)
    store.command("SET max_memory_usage = 67108864")
    try:
        baseline, current = fetch_pair(store, METRICS["ttft"], WINDOWS, BOTH, cap=5000, states=False)
    finally:
        store.command("SET max_memory_usage = 805306368")

    assert (60_000, 60_000) == (baseline.rows.total, current.rows.total)
    assert np.isfinite(current.displayed or np.nan)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("states", [False, True], ids=["rows", "states"])
def test_json_adds_up_on_a_sample(store: Store, requests: Requests, metric: str, states: bool) -> None:
    """Of sampled windows, whatever number is displayed, every list of the JSON sums to the change."""
    fill(store, requests, FAULTS["slower"], n=3000, gaps=True)
    chosen, cap = METRICS[metric], 20_000 if metric == "tbt" else 2000
    body = analyse(*fetch_pair(store, chosen, WINDOWS, BOTH, cap=cap, states=states), metric=chosen).as_dict()
    rest = body["workload_ms"] + body["load_ms"]

    assert body["delta_ms"] == pytest.approx(sum(body["tail_accounting_ms"].values()), abs=1e-6)
    for lines, left in (
        (body["layers"], body["unexplained_ms"]),
        (body["stages"], body["checks"]["stages_unexplained_ms"]),
    ):
        total = sum(line["ms"] for line in lines.values()) + rest + left
        assert body["delta_ms"] == pytest.approx(total, abs=1e-6)


def test_a_large_window_without_a_single_gap(store: Store, requests: Requests) -> None:
    """Where no request tells its gaps, TBT has no number, whichever way it is asked."""
    fill(store, requests, {}, n=3000)
    tbt = METRICS["tbt"]
    for states in (False, True):
        body = analyse(*fetch_pair(store, tbt, WINDOWS, BOTH, cap=2000, states=states), metric=tbt).as_dict()

        assert ("INSUFFICIENT", None, None) == (body["verdict"], body["delta_ms"], body["current"]["ms"])
