"""Listing requests against the same rows sorted here: order, limits, pages, ties."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.analytics.filters import parse_filter
from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.request_list import ORDERS, Order, RequestRow, RequestsAsked, list_requests
from otel_attrib.analytics.request_object import ask_requests, requests_object
from otel_attrib.analytics.windows import Window
from otel_attrib.errors import UsageError
from otel_attrib.schema.store import Store

Requests = Callable[..., pa.Table]


@pytest.fixture
def hour(requests: Requests) -> Window:
    """The hour in which the made-up requests arrive."""
    first = requests(1, seed=0)["time"][0].as_py().replace(minute=0, second=0, microsecond=0)
    return Window(first, first + timedelta(hours=1))


def everything(store: Store, asked: RequestsAsked, limit: int) -> list[RequestRow]:
    """All pages, put together."""
    found: list[RequestRow] = []
    cursor = None
    while True:
        page = list_requests(store, asked, limit, cursor)
        found, cursor = [*found, *page.items], page.next
        if cursor is None:
            return found


def value(row: dict[str, Any], metric: str) -> float:
    """A request's latency in ms; of its gaps the longest."""
    us: float = max(row["gaps_us"]) if metric == "tbt" else row[f"{metric}_us"]
    return us / 1000


@pytest.mark.parametrize("order", ORDERS)
def test_order_and_pages(store: Store, requests: Requests, hour: Window, order: Order) -> None:
    """Pages put together are all rows, each once, in the order of the metric or of time."""
    table = requests(250, seed=1, minutes=60, gaps=True)
    store.insert_arrow("requests", table)
    rows = table.to_pylist()

    for metric in METRICS:
        found = everything(store, RequestsAsked(METRICS[metric], hour, order=order), 37)

        ranked = sorted(rows, key=lambda row: value(row, metric) if order == "slowest" else row["time"])
        assert [row["trace_id"] for row in reversed(ranked)] == [row.words["trace_id"] for row in found]
        assert [value(row, metric) for row in reversed(ranked)] == [
            (row.value_us or 0) / 1000 for row in found
        ]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("limit", [1, 3, 10])
def test_ties_are_shown_once_each(
    store: Store, requests: Requests, hour: Window, order: Order, limit: int
) -> None:
    """Rows alike in value, time and every id are told by how many there are: none is lost or shown twice."""
    table = requests(24, seed=2)
    alike = {"time": table["time"][0], "trace_id": "aa", "ttft_us": 5000.0}
    for name, same in alike.items():
        values = pa.array([same] * 12 + table[name].to_pylist()[12:], table[name].type)
        table = table.set_column(table.column_names.index(name), name, values)
    tokens = pa.array(range(24), pa.uint32())
    table = table.set_column(table.column_names.index("output_tokens"), "output_tokens", tokens)
    store.insert_arrow("requests", table)

    found = everything(store, RequestsAsked(METRICS["ttft"], hour, order=order), limit)

    assert list(range(24)) == sorted(row.output_tokens for row in found)


def test_limits_are_those_of_a_heat_maps_row(store: Store, requests: Requests, hour: Window) -> None:
    """From `above` on and below `below`; of gaps, requests that have one in there."""
    table = requests(400, seed=3, gaps=True)
    store.insert_arrow("requests", table)
    ttft = np.sort(table["ttft_us"].to_numpy())
    low, high = ttft[100] / 1000, ttft[300] / 1000
    asked = RequestsAsked(METRICS["ttft"], hour, above_ms=low, below_ms=high)

    assert 200 == len(everything(store, asked, 1000))
    gaps = [np.array(row) / 1000 for row in table["gaps_us"].to_pylist()]
    expected = sum(bool(((row >= 3.0) & (row < 3.2)).any()) for row in gaps)
    between = RequestsAsked(METRICS["tbt"], hour, above_ms=3.0, below_ms=3.2)
    assert expected == len(everything(store, between, 1000)) > 0


def test_conditions_and_window(store: Store, requests: Requests, hour: Window) -> None:
    """`where` and the window, whose end is not in it, hold on every page."""
    table = requests(300, seed=4, minutes=60)
    store.insert_arrow("requests", table)
    times = table["time"].to_pylist()
    part = Window(times[50], times[250])

    found = everything(store, RequestsAsked(METRICS["e2e"], part, parse_filter(["tenant=zen"])), 13)

    expected = [i for i in range(50, 250) if table["tenant"][i].as_py() == "zen"]
    assert [table["trace_id"][i].as_py() for i in expected] == sorted(row.words["trace_id"] for row in found)


def test_what_was_not_observed_is_absent(store: Store, requests: Requests, hour: Window) -> None:
    """A missing stage is not in the row, a missing latency is null; only the newest lists it."""
    table = requests(3, seed=5, missing={"queue": 1.0})
    gone = pa.array([None, 1000.0, 2000.0], pa.float64())
    store.insert_arrow("requests", table.set_column(table.column_names.index("ttft_us"), "ttft_us", gone))
    words = (store, "ttft", f"{hour}", parse_filter([]), "now", None, None)

    slowest = requests_object("ttft", ask_requests(*words, "slowest", 10, None))
    newest = requests_object("ttft", ask_requests(*words, "newest", 10, None))

    assert [2.0, 1.0] == [item["ttft_ms"] for item in slowest["items"]]
    assert 3 == len(newest["items"]) and None is newest["items"][-1]["ttft_ms"]
    assert all("queue" not in item["stages_ms"] for item in newest["items"])
    assert all(item["stages_ms"]["prefill"] > 0 for item in newest["items"])


def test_the_newest_are_found_however_far_back(store: Store, requests: Requests, hour: Window) -> None:
    """The last minute is looked at first; where it holds too few, the whole window is."""
    old, new = (
        requests(30, seed=6, minutes=1),
        requests(2, seed=7, minutes=1, start=hour.end - timedelta(seconds=30)),
    )
    new = new.filter(np.array([time < hour.end for time in new["time"].to_pylist()]))
    store.insert_arrow("requests", old)
    store.insert_arrow("requests", new)
    asked = RequestsAsked(METRICS["ttft"], hour, order="newest")

    assert 30 + new.num_rows == len(everything(store, asked, 100))
    assert 30 + new.num_rows == len(everything(store, asked, 1))


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ((5.0, 5.0), "no latency lies from 5 ms up to 5 ms"),
        ((-1.0, None), "no latency lies from -1 ms up to inf ms"),
        ((float("nan"), None), "no latency lies from nan ms"),
        ((None, 0.0), "no latency lies from 0 ms up to 0 ms"),
    ],
)
def test_limits_that_hold_nothing(
    store: Store, hour: Window, limits: tuple[float | None, float | None], said: str
) -> None:
    """Limits between which nothing can lie are told."""
    asked = replace(RequestsAsked(METRICS["ttft"], hour), above_ms=limits[0], below_ms=limits[1])
    with pytest.raises(UsageError, match=said):
        list_requests(store, asked)


def test_an_order_that_is_none(store: Store, hour: Window) -> None:
    """An order is slowest or newest."""
    with pytest.raises(UsageError, match="no order 'fastest'; choose one of slowest, newest"):
        ask_requests(store, "ttft", f"{hour}", parse_filter([]), "now", None, None, "fastest", 10, None)
