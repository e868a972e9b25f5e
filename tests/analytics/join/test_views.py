"""The SQL views are a second implementation of the join: the same numbers from the same samples."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from otel_attrib.analytics.join.trace import request_evidence
from otel_attrib.analytics.trace_lookup import find
from otel_attrib.schema.store import Store

VIEW = "SELECT * FROM request_evidence(trace = {trace:String})"
COLUMNS = ("value", "low", "high", "coverage", "clock_uncertainty_us", "series")
Key = tuple[str, str, str, str]


def by_view(store: Store, trace: str) -> dict[Key, tuple[float | None, ...]]:
    """What SQL says."""
    return {
        (row["stage"], row["counter"], row["node"], row["device"]): tuple(row[name] for name in COLUMNS)
        for row in store.rows(VIEW, {"trace": trace})
    }


def by_python(store: Store, trace: str) -> dict[Key, tuple[float | None, ...]]:
    """What the join says."""
    return {
        (found.stage, found.counter.key, found.node, found.device): (
            found.value, found.low, found.high, found.coverage, found.clock_us, found.series
        )
        for found in request_evidence(store, find(store, trace)).findings
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(1, 11))
def test_views_equal_the_join(
    store: Store,
    put_samples: Callable[[Any], None],
    put_requests: Callable[..., None],
    random_fleet: Callable[[int], Any],
    seed: int,
) -> None:
    """On random requests, device sets, clocks, restarts, wraps, holes, sources and nonsense: row for row."""
    request, rows = random_fleet(seed)
    put_requests(request)
    put_samples(rows)

    expected, actual = (by(store, request["trace_id"]) for by in (by_python, by_view))

    assert len(expected) > 0
    assert set(expected) == set(actual)
    for key, numbers in expected.items():
        wanted = [np.nan if number is None else number for number in numbers]
        got = [np.nan if number is None else number for number in actual[key]]
        assert pytest.approx(wanted, rel=1e-6, abs=1e-6, nan_ok=True) == got, key


def test_a_trace_that_nobody_knows(store: Store) -> None:
    """No request, no row."""
    assert {} == by_view(store, "feed")


def test_a_window(
    store: Store, put_samples: Callable[[Any], None], random_fleet: Callable[[int], Any]
) -> None:
    """A total of a window is what it grew by in it, on the nodes asked for or on all of them."""
    put_samples([(second * 10**6, "gpu_throttle_time", node, "0", 0.25 * second, {})
                 for second in range(60) for node in ("n1", "n2")])  # fmt: skip
    sql = (
        "SELECT node, device, value, coverage FROM window_evidence("
        "from = '2026-05-01 12:00:10', to = '2026-05-01 12:00:50', "
        "nodes = {nodes:Array(String)}) ORDER BY node"
    )
    expected = [{"node": node, "device": "0", "value": 10.0, "coverage": 1.0} for node in ("n1", "n2")]

    assert expected == store.rows(sql, {"nodes": []})
    assert expected[1:] == store.rows(sql, {"nodes": ["n2"]})


@pytest.mark.parametrize("counter", ["gpu_clock", "gpu_throttled", "gpu_throttle_time"])
def test_a_series_without_one_measurement(
    store: Store,
    put_samples: Callable[[Any], None],
    put_requests: Callable[..., None],
    random_fleet: Callable[[int], Any],
    counter: str,
) -> None:
    """Readings that are all refused are like none: no error, no row, and the counters beside them stay."""
    request, rows = random_fleet(1)
    put_requests(request)
    others = [row for row in rows if row[1] != counter]
    times = sorted({(row[0], row[2], row[3]) for row in rows})
    put_samples([*others, *((time, counter, node, device, -1.0, {}) for time, node, device in times)])

    found = by_view(store, request["trace_id"])

    assert counter not in {key[1] for key in found}
    assert len(found) > 0
