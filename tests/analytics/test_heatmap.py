"""The heat map against numpy's histogram of the same rows, and its line against `quantiles`."""

from collections.abc import Callable
from datetime import timedelta
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from otel_attrib.analytics import heatmap as module
from otel_attrib.analytics.filters import parse_filter
from otel_attrib.analytics.heatmap import Heatmap, HeatmapAsked, fitting_step, heatmap
from otel_attrib.analytics.heatmap_object import Words, ask_heatmap, heatmap_object
from otel_attrib.analytics.latency_bins import BINS, edge_ms, grouped
from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.quantiles import Sliding, slide
from otel_attrib.analytics.windows import Window, rfc3339
from otel_attrib.errors import UsageError
from otel_attrib.schema.store import Store

Requests = Callable[..., pa.Table]
METRIC_NAMES = tuple(METRICS)


@pytest.fixture
def noon(requests: Requests) -> Window:
    """The quarter of an hour in which the made-up requests arrive."""
    first = requests(1, seed=0)["time"][0].as_py().replace(minute=0, second=0, microsecond=0)
    return Window(first, first + timedelta(minutes=15))


def values_of(table: pa.Table, metric: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Seconds since 1970 and latency in ms of every value of a table, once for each time it counts."""
    seconds = np.array([time.timestamp() for time in table["time"].to_pylist()])
    weights = table["weight"].to_numpy() if "weight" in table.column_names else np.ones(len(seconds), int)
    if metric == "tbt":
        lists = [np.array(gaps, np.float64) for gaps in table["gaps_us"].to_pylist()]
        times = np.repeat(seconds, [gaps.size for gaps in lists])
        return np.repeat(times, np.repeat(weights, [gaps.size for gaps in lists])), np.repeat(
            np.concatenate(lists) / 1000, np.repeat(weights, [gaps.size for gaps in lists])
        )
    return np.repeat(seconds, weights), np.repeat(table[f"{metric}_us"].to_numpy() / 1000, weights)


def histogram(found: Heatmap, table: pa.Table) -> NDArray[np.int64]:
    """numpy's counts on the same edges, rows × columns."""
    seconds, ms = values_of(table, found.asked.metric.name)
    first = found.asked.span.start.timestamp()
    times = first + found.asked.step * np.arange(len(found.line_ms) + 1)
    counts, _, _ = np.histogram2d(ms, seconds, bins=(np.array(found.edges_ms), times))
    whole: NDArray[np.int64] = counts.astype(np.int64)
    return whole


def test_counts_are_numpys(store: Store, requests: Requests, noon: Window) -> None:
    """Each cell holds what numpy counts between the printed edges; no value is outside them."""
    table = requests(1500, seed=3, gaps=True)
    store.insert_arrow("requests", table)

    for metric, step, bins in product(METRIC_NAMES, (60, 180, 10, 90), (240, 7)):
        found = heatmap(store, HeatmapAsked(METRICS[metric], 0.99, step, bins, noon))

        assert ("states" if step % 60 == 0 else "rows") == found.asked.source
        assert np.array_equal(histogram(found, table), found.matrix()), (metric, step, bins)
        assert values_of(table, metric)[1].size == found.n == found.matrix().sum()
        assert bins >= len(found.edges_ms) - 1
        assert 900 // step == len(found.line_ms) == len(found.starts)


@pytest.mark.parametrize("step", [60, 30])
def test_weights_count(store: Store, requests: Requests, noon: Window, step: int) -> None:
    """A row counts as often as its weight says, its gaps too, from minutes and from rows."""
    table = requests(400, seed=4, gaps=True)
    weights = np.random.default_rng(4).integers(1, 50, 400).astype(np.uint32)
    store.insert_arrow("requests", table := table.append_column("weight", pa.array(weights)))

    for metric in METRIC_NAMES:
        found = heatmap(store, HeatmapAsked(METRICS[metric], 0.99, step, 60, noon))
        assert np.array_equal(histogram(found, table), found.matrix())


def test_the_line_is_what_quantiles_gives(store: Store, requests: Requests, noon: Window) -> None:
    """P99 of a column is the number of `quantiles` for a window as long as the column."""
    store.insert_arrow("requests", requests(900, seed=5, gaps=True))

    for metric, step in product(METRIC_NAMES, (10, 60, 300)):
        found = heatmap(store, HeatmapAsked(METRICS[metric], 0.99, step, 30, noon))

        points = slide(store, Sliding(METRICS[metric], 0.99, step, step, noon))
        by_end = {point.end: point.ms for point in points}
        ends = [start + timedelta(seconds=step) for start in found.starts]
        assert [by_end.get(end) for end in ends] == list(found.line_ms)
        assert all(ms is not None for ms in found.line_ms if step > 10)


def test_minutes_states_give_the_number_of_10_s_states(
    store: Store, requests: Requests, noon: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sliding quantiles of whole minutes are the same from minutes' states as from 10 s states; so is n."""
    table = requests(2000, seed=6, gaps=True)
    store.insert_arrow("requests", table.slice(0, 700))
    store.insert_arrow("requests", table.slice(700))
    asked = [Sliding(METRICS[name], 0.99, 300, 60, noon, ("model",)) for name in METRIC_NAMES]
    from_minutes = [slide(store, each) for each in asked]

    monkeypatch.setattr("otel_attrib.analytics.quantiles.MINUTE", 1 << 30)

    assert [slide(store, each) for each in asked] == from_minutes
    assert all(len(points) == 2 * 15 for points in from_minutes)


def test_conditions(store: Store, requests: Requests, noon: Window) -> None:
    """A condition on what is rolled up and one on what is not both choose the rows that numpy chooses."""
    table = requests(800, seed=7)
    statuses = np.array(["ok", "error"])[np.arange(800) % 2]
    table = table.set_column(table.column_names.index("status"), "status", pa.array(statuses))
    store.insert_arrow("requests", table)

    rolled = heatmap(store, HeatmapAsked(METRICS["ttft"], 0.99, 60, 30, noon, parse_filter(["model=m1"])))
    by_row = heatmap(store, HeatmapAsked(METRICS["ttft"], 0.99, 60, 30, noon, parse_filter(["status=error"])))

    models, ok = np.array(table["model"].to_pylist()), statuses == "ok"
    assert np.array_equal(histogram(rolled, table.filter(models == "m1")), rolled.matrix())
    assert np.array_equal(histogram(by_row, table.filter(~ok)), by_row.matrix())
    assert ("states", "rows") == (rolled.asked.source, by_row.asked.source)
    # The line of a condition that states do not hold is the order statistic of the rows.
    first = table.filter(~ok).slice(0, 0)
    seconds, ms = values_of(table.filter(~ok), "ttft")
    inside = seconds < noon.start.timestamp() + 60
    assert first.num_rows == 0
    assert np.quantile(ms[inside], 0.99, method="lower") == pytest.approx(by_row.line_ms[0], rel=1e-12)


def test_what_is_missing_is_absent(store: Store, requests: Requests, noon: Window) -> None:
    """A row without the metric counts nowhere, a column without a value has no line, nothing has no edges."""
    table = requests(50, seed=8, minutes=3)
    absent = table.set_column(
        table.column_names.index("tpot_us"), "tpot_us", pa.array([None] * 50, pa.float64())
    )
    store.insert_arrow("requests", absent)

    tpot = heatmap(store, HeatmapAsked(METRICS["tpot"], 0.99, 60, 30, noon))
    ttft = heatmap(store, HeatmapAsked(METRICS["ttft"], 0.99, 60, 30, noon))

    assert (0, (), (None,) * 15) == (tpot.n, tpot.edges_ms, tpot.line_ms)
    assert tpot.matrix().shape == (0, 15)
    assert [True] * 3 + [False] * 12 == [ms is not None for ms in ttft.line_ms]


def test_columns_are_whole(store: Store, requests: Requests, noon: Window) -> None:
    """A span that begins and ends within columns gets the whole of these."""
    table = requests(600, seed=9)
    store.insert_arrow("requests", table)
    inner = Window(noon.start + timedelta(seconds=90), noon.end - timedelta(seconds=90))

    found = heatmap(store, HeatmapAsked(METRICS["ttft"], 0.99, 120, 30, inner))

    # Multiples of 120 s: from 12:00 to 12:14.
    assert (noon.start, 7) == (found.starts[0], len(found.starts))
    seconds, _ = values_of(table, "ttft")
    assert (seconds < noon.start.timestamp() + 840).sum() == found.n


def test_extremes_have_a_bin(store: Store, requests: Requests, noon: Window) -> None:
    """Zero, less than a microsecond and more than all bins hold are counted in the first and the last bin."""
    table = requests(6, seed=10, minutes=1)
    times = pa.array([0.0, 0.2, 1.0, 999.9999, 1000.0, 1e15])
    store.insert_arrow("requests", table.set_column(table.column_names.index("ttft_us"), "ttft_us", times))

    found = heatmap(store, HeatmapAsked(METRICS["ttft"], 0.5, 60, BINS, noon))

    assert [(0, 3), (59, 1), (60, 1), (239, 1)] == list(
        zip(found.rows.tolist(), found.counts.tolist(), strict=True)
    )
    assert (0.001, 1.0) == (found.edges_ms[0], found.edges_ms[60])


def test_edges_are_powers_of_ten_and_twentieths() -> None:
    """Every twentieth edge is a power of ten, to the last bit; each is 12.2 % above the one before."""
    assert [0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0] == [edge_ms(20 * decade) for decade in range(7)]
    assert {1.122} == {round(edge_ms(k + 1) / edge_ms(k), 3) for k in range(BINS)}


@pytest.mark.parametrize(
    ("lowest", "highest", "most", "size", "rows"),
    [(40, 79, 40, 1, 40), (40, 79, 39, 2, 20), (41, 80, 20, 3, 14), (39, 40, 1, 3, 1), (7, 7, 1, 1, 1)],
)
def test_groups_are_few_and_begin_at_multiples(
    lowest: int, highest: int, most: int, size: int, rows: int
) -> None:
    """Bins are put together by the smallest number that leaves few enough, from multiples of it."""
    found, shown = grouped(lowest, highest, most)

    assert (size, rows) == (found, len(shown))
    assert shown.start * size <= lowest and highest < shown.stop * size


def test_a_step_is_found(
    store: Store, requests: Requests, noon: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a step the shortest usual one that fits; a minute where rows are too many to count."""
    store.insert_arrow("requests", requests(100, seed=11))
    quarter = HeatmapAsked(METRICS["ttft"], 0.99, 60, 30, noon)
    day = HeatmapAsked(METRICS["ttft"], 0.99, 60, 30, Window(noon.start, noon.start + timedelta(days=1)))

    assert (10, 900) == (fitting_step(store, quarter, 120), fitting_step(store, day, 120))
    monkeypatch.setattr(module, "VALUES_AT_MOST", 99)
    assert 60 == fitting_step(store, quarter, 120)


def test_what_costs_too_much_is_refused(
    store: Store, requests: Requests, noon: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too many columns, rows to count one by one, and bins that are none are refused with what to do."""
    store.insert_arrow("requests", requests(100, seed=12))
    monkeypatch.setattr(module, "VALUES_AT_MOST", 99)
    ttft = METRICS["ttft"]
    long = Window(noon.start, noon.start + timedelta(days=2))

    with pytest.raises(UsageError, match=r"2880 columns are more than 1500: take a longer step"):
        heatmap(store, HeatmapAsked(ttft, 0.99, 60, 30, long))
    with pytest.raises(
        UsageError, match=r"100 values are more than .* a step of 10 s needs: .* whole minutes"
    ):
        heatmap(store, HeatmapAsked(ttft, 0.99, 10, 30, noon))
    with pytest.raises(UsageError, match=r"a condition on status needs: .* choose by service, node"):
        heatmap(store, HeatmapAsked(ttft, 0.99, 60, 30, noon, parse_filter(["status=ok"])))
    with pytest.raises(UsageError, match="0 bins: give 1 to 240"):
        heatmap(store, HeatmapAsked(ttft, 0.99, 60, 0, noon))


def test_json_holds_the_picture(store: Store, requests: Requests, noon: Window) -> None:
    """The JSON's cells, edges and times are the picture's, and add up to n."""
    store.insert_arrow("requests", requests(300, seed=13))
    asked = HeatmapAsked(METRICS["ttft"], 0.9, 60, 48, noon)

    words = Words("ttft", 0.9, f"{noon}", "1m", 48, parse_filter([]), "now")
    body = heatmap_object(*ask_heatmap(store, words))

    found = heatmap(store, asked)
    grid = np.zeros_like(found.matrix())
    for column, row, count in body["cells"]:
        grid[row, column] = count
    assert np.array_equal(found.matrix(), grid)
    assert 300 == body["n"] == sum(count for _, _, count in body["cells"])
    assert [rfc3339(start) for start in found.starts] == body["times"]
    assert list(found.line_ms) == body["quantile_ms"]
    assert ("otel-attrib/heatmap/1", 60, "states", []) == tuple(
        body[name] for name in ("schema", "step_s", "source", "marks")
    )
