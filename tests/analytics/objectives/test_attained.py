"""Attainment against a second implementation, row by row in plain Python."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from otel_attrib.analytics.filters import parse_filter
from otel_attrib.analytics.objectives import Limit, Objective, attain
from otel_attrib.analytics.objectives.attained import Share, requests_needed, wilson
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
QUARTER = Window(NOON, NOON + timedelta(minutes=15))
Rows = list[dict[str, Any]]
LIMITS = [
    {"ttft": 120.0},
    {"tpot": 30.0},
    {"tbt": 80.0},
    {"e2e": 500.0},
    {"ttft": 120.0, "tpot": 30.0},
    {"ttft": 150.0, "tpot": 40.0, "tbt": 95.0, "e2e": 900.0},
]


def objective(limits: dict[str, float], *where: str, joint: bool = True) -> Objective:
    """An objective on these limits in ms."""
    chosen = parse_filter(where)
    return Objective("o", "o", chosen, tuple(Limit(*each) for each in limits.items()), joint, target=0.9)


@pytest.mark.parametrize("limits", LIMITS, ids="+".join)
@pytest.mark.parametrize("seed", range(2))
def test_counts_are_those_of_the_second_implementation(
    store: Store, made: Callable[..., Rows], tabled: Any, second: Any, limits: dict[str, float], seed: int
) -> None:
    """Good, bad, unmeasured and rows equal a plain loop's, jointly and for each limit, by weight."""
    rows = made(1500, seed)
    store.insert_arrow("requests", tabled(rows))

    found = attain(store, objective(limits), QUARTER)

    shares = {"joint": (found.whole, limits)}
    shares |= {name: (found.marginal[name], {name: ms}) for name, ms in limits.items()}
    for name, (share, under) in shares.items():
        told = {"good": share.good, "bad": share.bad, "unmeasured": share.unmeasured, "rows": share.rows}
        assert second(rows, under) == told, name


def test_windows_hold_their_start_and_not_their_end(
    store: Store, made: Any, tabled: Any, second: Any
) -> None:
    """A window and the one after it count every request once."""
    rows = made(900, 7)
    store.insert_arrow("requests", tabled(rows))
    cut = rows[0]["time"]

    parts = [
        attain(store, objective({"ttft": 100.0}), window)
        for window in (Window(NOON, cut), Window(cut, QUARTER.end))
    ]

    assert second(rows, {"ttft": 100.0})["good"] == sum(part.good for part in parts)
    early = [row for row in rows if row["time"] < cut]
    assert second(early, {"ttft": 100.0})["good"] == parts[0].good


def test_where_chooses(store: Store, made: Any, tabled: Any, second: Any) -> None:
    """Only requests with the chosen values count; alternatives add up; a quote in a value is data."""
    rows = made(900, 8)
    store.insert_arrow("requests", tabled(rows))

    def good(*where: str) -> int:
        return attain(store, objective({"e2e": 300.0}, *where), QUARTER).good

    acme = [row for row in rows if row["tenant"] == "acme" and row["model"] == "m1"]
    assert second(acme, {"e2e": 300.0})["good"] == good("tenant=acme", "model=m1")
    assert good() == good("model=m0", "model=m1")
    assert 0 == good("tenant=a' OR '1")


def test_a_value_equal_to_the_limit_meets_it(store: Store, tabled: Any, made: Any) -> None:
    """Limits are inclusive."""
    rows = [row for row in made(400, 9) if row["ttft_us"] is not None and row["status"] == "ok"]
    limit = rows[0]["ttft_us"] / 1000
    rows = [{**rows[0], "ttft_us": 1000 * limit}]
    store.insert_arrow("requests", tabled(rows))

    assert rows[0]["weight"] == attain(store, objective({"ttft": limit}), QUARTER).good


@pytest.mark.parametrize("seed", range(3))
def test_joint_is_at_most_the_least_marginal(store: Store, made: Any, tabled: Any, seed: int) -> None:
    """Where all is measured and every limit applies to every request, joint ≤ the least marginal share."""
    rows = [
        row
        for row in made(3000, 20 + seed)
        if row["output_tokens"] > 1 and all(row[f"{name}_us"] is not None for name in ("ttft", "tpot", "e2e"))
    ]
    store.insert_arrow("requests", tabled(rows))
    limits = {"ttft": 120.0, "tpot": 30.0, "e2e": 900.0}

    joint = attain(store, objective(limits), QUARTER)
    alone = attain(store, objective(limits, joint=False), QUARTER)

    least = min(share.value for share in joint.marginal.values() if share.value is not None)
    assert joint.whole.value is not None
    assert joint.whole.value < least  # of random limits some fail one and not the other
    assert least == alone.whole.value
    assert joint.marginal == alone.marginal


def test_an_empty_window_has_no_share(store: Store) -> None:
    """Nothing judged is no share, not a perfect one."""
    found = attain(store, objective({"ttft": 1.0, "tpot": 1.0}, joint=False), QUARTER)

    assert (None, 0, 0) == (found.whole.value, found.good, found.total)
    assert (None, None) == (found.whole.interval(), found.whole.reach())


@given(st.integers(1, 5000), st.data())
def test_wilson_is_scipys(n: int, data: Any) -> None:
    """The interval is the score interval of an independent implementation."""
    k = data.draw(st.integers(0, n))
    expected = binomtest(k, n).proportion_ci(0.95, "wilson")

    assert (expected.low, expected.high) == pytest.approx(wilson(k / n, n), abs=1e-12)


def test_requests_needed_is_mlperfs_table() -> None:
    """P99 to within 0.05 % at 99 % confidence takes 262,742 requests, and P90 to within 0.5 % 23,886."""
    z99 = 2.5758293035489004

    assert 262_742 == requests_needed(0.99, 0.0005, z99)
    assert 23_886 == requests_needed(0.90, 0.005, z99)


def test_unmeasured_requests_move_the_share_both_ways() -> None:
    """With 80 good of 90 and 10 unmeasured the share lies between 80 and 90 of 100."""
    assert (0.8, 0.9) == Share(good=80, total=90, unmeasured=10, rows=90).reach()
