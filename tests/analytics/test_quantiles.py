"""Sliding quantiles against numpy on the same rows."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.analytics.filters import parse_filter
from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.quantiles import Point, Sliding, slide
from otel_attrib.analytics.windows import Window
from otel_attrib.errors import UsageError
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
SPAN = Window(NOON, NOON + timedelta(minutes=15))
Requests = Callable[..., pa.Table]


def reference(table: pa.Table, metric: str, point: Point, window: int, level: float) -> float:
    """The order statistic that numpy takes from the rows of one window and one model, in ms."""
    ends = point.end.timestamp()
    times = np.array([time.timestamp() for time in table["time"].to_pylist()])
    rows = (times >= ends - window) & (times < ends)
    if point.group:
        rows &= np.array(table["model"].to_pylist()) == point.group[0]
    if metric == "tbt":
        lists = [table["gaps_us"][int(i)].values.to_numpy() for i in np.flatnonzero(rows)]
        values = np.concatenate(lists).astype(np.float64)
    else:
        values = table[f"{metric}_us"].to_numpy()[rows]
    return float(np.quantile(values, level, method="lower")) / 1000


@pytest.mark.parametrize("metric", ["ttft", "tpot", "e2e"])
@pytest.mark.parametrize("level", [0.5, 0.99])
def test_states_are_within_the_printed_bound(
    store: Store, requests: Requests, metric: str, level: float
) -> None:
    """From states every window is within the printed bound of numpy's order statistic."""
    table = requests(3000, seed=1)
    store.insert_arrow("requests", table)
    asked = Sliding(METRICS[metric], level, 60, 30, SPAN, ("model",))

    points = slide(store, asked)

    # Two models, and an end every 30 s in (12:00, 12:15].
    assert 2 * 30 == len(points)
    for point in points:
        expected = reference(table, metric, point, 60, level)
        assert point.ms is not None
        assert abs(point.ms / expected - 1) <= asked.bound().relative + 1e-12


@pytest.mark.parametrize("metric", ["ttft", "tpot", "tbt", "e2e"])
def test_exact_is_numpys_order_statistic(store: Store, requests: Requests, metric: str) -> None:
    """`exact` equals numpy's `lower` quantile of the rows to the last bit of the division by 1000."""
    table = requests(1000, seed=2, gaps=True)
    store.insert_arrow("requests", table)
    asked = Sliding(METRICS[metric], 0.99, 45, 45, SPAN, exact=True)

    points = slide(store, asked)

    assert 20 == len(points)
    for point in points:
        assert reference(table, metric, point, 45, 0.99) == pytest.approx(point.ms, rel=1e-15)


def test_window_and_step_are_rounded_up_to_states() -> None:
    """65 s every 7 s become 70 s every 10 s from states, and stay when exact."""
    asked = Sliding(METRICS["ttft"], 0.99, 65, 7, SPAN)

    assert (70, 10) == (asked.on_states().window, asked.on_states().step)
    exact = Sliding(METRICS["ttft"], 0.99, 65, 7, SPAN, exact=True)
    assert exact == exact.on_states()


def test_every_request_is_in_as_many_windows_as_it_lasts(store: Store, requests: Requests) -> None:
    """A window of six steps counts each request six times; one step, once."""
    store.insert_arrow("requests", requests(500, seed=3, minutes=5))
    wide = Window(NOON - timedelta(minutes=1), NOON + timedelta(minutes=10))

    for window, times in ((60, 6), (10, 1)):
        points = slide(store, Sliding(METRICS["ttft"], 0.5, window, 10, wide))
        assert 500 * times == sum(point.n for point in points)


def test_filters_bind_their_values(store: Store, requests: Requests) -> None:
    """Values are data: a quote in one matches nothing and breaks nothing; alternatives add up."""
    store.insert_arrow("requests", requests(400, seed=4))

    def count(*words: str) -> int:
        asked = Sliding(METRICS["ttft"], 0.5, 900, 900, SPAN, where=parse_filter(words))
        return sum(point.n for point in slide(store, asked))

    assert 400 == count() == count("model=m0", "model=m1")
    assert count("model=m0") == 400 - count("model=m1")
    assert 0 == count("model=m0' OR 1 --")


def test_few_values_are_flagged(store: Store, requests: Requests) -> None:
    """At P99 a window needs 500 values to be free of the flag."""
    store.insert_arrow("requests", requests(500, seed=5))
    points = slide(store, Sliding(METRICS["ttft"], 0.99, 900, 300, SPAN))

    assert [True, True, False] == [point.few for point in points]


def test_dimension_without_states_is_refused() -> None:
    """States keep no status apart, and the message lists what they do."""
    with pytest.raises(UsageError, match="no dimension 'status' here; choose from service, node"):
        Sliding(METRICS["ttft"], 0.99, 60, 60, SPAN, by=("status",)).check()


def test_a_window_of_failures_has_no_quantile(store: Store, requests: Requests) -> None:
    """Where no request has a first token there is a count and no number."""
    table = requests(20, seed=6, minutes=1)
    names = [name for name in table.column_names if not name.endswith("_us")]
    store.insert_arrow("requests", table.select(names))

    (point,) = slide(store, Sliding(METRICS["ttft"], 0.99, 900, 900, SPAN))

    assert (20, None) == (point.n, point.ms)


@pytest.mark.parametrize("exact", [False, True])
def test_a_window_of_twenty_years(store: Store, requests: Requests, exact: bool) -> None:
    """A long window with a short step costs as much as it has ends in the span, and holds every request."""
    store.insert_arrow("requests", requests(2000, seed=6))
    asked = Sliding(METRICS["ttft"], 0.5, 7300 * 86400, 10, SPAN, exact=exact)

    points = slide(store, asked)

    assert 90 == len(points)
    assert 2000 == points[-1].n
    assert sorted(point.n for point in points) == [point.n for point in points]
