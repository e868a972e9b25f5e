"""Budget, burn rates and state: identities, hand-made histories, and a second implementation."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_attrib.analytics.filters import EVERY_REQUEST
from otel_attrib.analytics.objectives import BurnPair, Limit, Objective, Timeslices
from otel_attrib.analytics.objectives.minutes import MINUTE_US, in_slices
from otel_attrib.analytics.objectives.slo_object import history_points, standing_object
from otel_attrib.analytics.objectives.standing import stand, standing
from otel_attrib.analytics.objectives.tally import Counts, Tally
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
NOON_MINUTE = int(NOON.timestamp()) // 60
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
Rows = list[dict[str, Any]]
JOINT = Objective(
    "o", "o", EVERY_REQUEST, (Limit("ttft", 120), Limit("tpot", 30)), True, target=0.9, window=DAY
)
ALONE = replace(JOINT, joint=False)


def history(**good_and_bad: list[tuple[int, int]]) -> Tally:
    """Minutes that end at noon, from (good, bad) of each, the newest last; `rest` are a day's older ones."""
    counts = {}
    for name, pairs in good_and_bad.items():
        padded = [(0, 0)] * (1440 - len(pairs)) + pairs
        good, bad = (np.array(column, dtype=np.int64) for column in zip(*padded, strict=True))
        counts[name] = Counts(good, bad, np.zeros(1440, dtype=np.int64), good + bad)
    edges = np.arange(NOON_MINUTE - 1440, NOON_MINUTE + 1, dtype=np.int64) * MINUTE_US
    return Tally(edges, counts)


def all_limits(pairs: list[tuple[int, int]]) -> Tally:
    """The same history jointly and for each limit."""
    return history(joint=pairs, ttft=pairs, tpot=pairs)


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), min_size=1, max_size=60))
def test_budget_and_burn_are_one_arithmetic(pairs: list[tuple[int, int]]) -> None:
    """Over the whole window: budget left = 1 − burn rate, and burn rate · budget = bad share."""
    found = standing(JOINT, all_limits(pairs))
    good, bad = (sum(column) for column in zip(*pairs, strict=True))

    (window, rate) = found.burn[-1]
    assert DAY == window
    if good + bad == 0:
        assert (None, None, "no data") == (rate, found.budget_left, found.state)
        return
    assert rate is not None
    assert bad / (good + bad) == pytest.approx(rate * JOINT.budget)
    assert found.budget_left == pytest.approx(1 - rate)


def test_an_overspent_budget_is_below_zero() -> None:
    """20 % bad with 10 % allowed spends the budget twice: −100 % is left, and burns at 2."""
    found = standing(JOINT, all_limits([(80, 20)] * 1440))

    assert (-1.0, 2.0) == pytest.approx((found.budget_left, found.burn[-1][1]))


def test_states_follow_the_windows() -> None:
    """All good is ok; a burst in both windows pages; the same burst over, with budget left, is ok again."""
    quiet, burst = (100, 0), (0, 100)

    assert "ok" == standing(JOINT, all_limits([quiet] * 1440)).state
    now = standing(JOINT, all_limits([quiet] * 1430 + [burst] * 10))
    assert "page" == now.state
    assert now.worst is not None
    assert now.worst.long_rate == pytest.approx(10.0)  # all of the last five minutes are bad
    over = standing(JOINT, all_limits([quiet] * 1300 + [burst] * 10 + [quiet] * 130))
    assert ("ok", None) == (over.state, over.worst)
    assert over.budget_left == pytest.approx(1 - (10 / 1440) / 0.1)


def test_a_budget_that_is_gone_warns_when_nothing_burns() -> None:
    """Half of a day bad, all of it hours ago: no pair burns, and the state is still warn."""
    found = standing(JOINT, all_limits([(0, 10)] * 700 + [(10, 0)] * 740))

    assert not any(each.firing for each in found.pairs)
    assert "warn" == found.state


def test_a_burst_in_a_short_window_alone_is_no_alert() -> None:
    """One bad minute burns the short window of every pair and no long one of 5 minutes or more above 5.76."""
    found = standing(JOINT, all_limits([(100, 0)] * 1439 + [(50, 50)]))

    assert (5.0, 1.0) == pytest.approx((found.pairs[0].short_rate, found.pairs[0].long_rate))
    assert "ok" == found.state


def test_without_joint_the_limit_that_stands_worst_is_told() -> None:
    """Each limit has the budget to itself, and both must burn in the same limit's windows to alert."""
    good, bad = [(100, 0)] * 1440, [(100, 0)] * 1430 + [(0, 100)] * 10

    found = standing(ALONE, history(joint=bad, ttft=good, tpot=bad))

    assert "page" == found.state
    assert found.worst is not None
    assert "tpot" == found.worst.limit
    assert found.attained.whole == found.attained.marginal["tpot"]
    assert {"ttft", "tpot"} == {each.limit for each in found.pairs}


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=10, max_size=120),
    st.sampled_from([1, 5, 7, 30]),
    st.sampled_from([0.5, 0.9, 1.0]),
)
def test_slices_are_a_plain_loops(pairs: list[tuple[int, int]], minutes: int, target: float) -> None:
    """A slice of the clock is good when enough of its requests are, and none without requests."""
    found = in_slices(all_limits(pairs), Timeslices(minutes * MINUTE, target))

    first = -(-(NOON_MINUTE - 1440) // minutes) * minutes
    flat = [(0, 0)] * (1440 - len(pairs)) + pairs
    expected = []
    for start in range(first, NOON_MINUTE - minutes + 1, minutes):
        held = flat[start - (NOON_MINUTE - 1440) :][:minutes]
        good, total = sum(each[0] for each in held), sum(map(sum, held))
        expected.append((int(total > 0 and good >= target * total), int(total > 0 and good < target * total)))
    counts = found.counts["joint"]
    assert expected == list(zip(counts.good.tolist(), counts.bad.tolist(), strict=True))
    assert first * MINUTE_US == int(found.edges_us[0])


def test_timeslices_count_time_and_occurrences_requests() -> None:
    """One bad minute with a thousand requests is much of the requests and 1 of 1440 minutes."""
    pairs = [(1, 0)] * 1439 + [(0, 1000)]
    sliced = replace(JOINT, slices=Timeslices(MINUTE, 0.95))

    requests, slices = (standing(each, all_limits(pairs)) for each in (JOINT, sliced))

    assert (1439, 2439) == (requests.attained.good, requests.attained.total)
    assert (1439, 1440) == (slices.attained.good, slices.attained.total)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)).filter(lambda p: sum(p) == 1), min_size=5))
def test_one_request_a_minute_makes_both_methods_one(pairs: list[tuple[int, int]]) -> None:
    """With one request in each minute, minutes as slices and requests attain the same."""
    sliced = replace(JOINT, slices=Timeslices(MINUTE, 1.0))

    requests, slices = (standing(each, all_limits(pairs[-1440:])) for each in (JOINT, sliced))

    assert (requests.attained.good, requests.attained.total) == (slices.attained.good, slices.attained.total)
    assert requests.burn == slices.burn


@pytest.mark.parametrize("objective", [JOINT, ALONE], ids=["joint", "alone"])
def test_standing_is_that_of_the_second_implementation(
    store: Store, made: Callable[..., Rows], tabled: Any, second: Any, objective: Objective
) -> None:
    """Attainment, burn rates and alerts from rows equal those of loops over the rows."""
    rows = made(4000, 3, minutes=600)
    store.insert_arrow("requests", tabled(rows))
    end = NOON + 600 * MINUTE

    (found,) = stand(store, [objective], NOON_MINUTE + 600)

    limits = {limit.metric: limit.ms for limit in objective.limits}
    budgets = [limits] if objective.joint else [{name: ms} for name, ms in limits.items()]

    def rate(under: dict[str, float], window: timedelta) -> float | None:
        got = second([row for row in rows if end - window <= row["time"] < end], under)
        total = got["good"] + got["bad"]
        return (got["bad"] / total) / (1 - objective.target) if total else None

    for window, shown in found.burn:
        rates = [each for each in (rate(under, window) for under in budgets) if each is not None]
        assert max(rates) == pytest.approx(shown)
    asked = [(under, pair) for under in budgets for pair in objective.pairs()]
    assert len(asked) == len(found.pairs)
    for (under, pair), each in zip(asked, found.pairs, strict=True):
        assert rate(under, pair.long) == pytest.approx(each.long_rate)
        assert rate(under, pair.short) == pytest.approx(each.short_rate)
    assert end == found.end


def test_own_policies_take_the_place_of_the_workbooks() -> None:
    """An objective with alert policies of its own has these pairs alone."""
    pair = BurnPair(2.0, timedelta(hours=1), timedelta(minutes=5), "page", 2 / 24)
    found = standing(replace(JOINT, alerts=(pair,)), all_limits([(70, 30)] * 1440))

    assert [(pair, True)] == [(each.pair, each.firing) for each in found.pairs]
    assert "page" == found.state


def test_history_adds_up_to_the_window() -> None:
    """Its stretches hold what the window holds, at most 120 of them, the newest last."""
    minutes = all_limits([(i, i % 7) for i in range(1440)])
    points = history_points(JOINT, minutes)

    assert 120 == len(points)
    assert sum(range(1440)) == sum(point["good"] for point in points)
    assert standing(JOINT, minutes).attained.total == sum(point["total"] for point in points)
    assert "2026-05-01T11:48:00Z" == points[-1]["time"]


def test_json_holds_what_was_agreed() -> None:
    """An item has the fields that the page and the alerts read."""
    item = standing_object(standing(JOINT, all_limits([(9, 1)] * 1440)))

    assert {"ttft": 0.9, "tpot": 0.9} == item["marginal"]
    assert ("o", 0.9, 86_400, True) == tuple(item[key] for key in ("name", "target", "window_s", "joint"))
    assert (12_960, 14_400, 0.9) == tuple(item[key] for key in ("good", "total", "attained"))
    assert item["budget_left"] == pytest.approx(0, abs=1e-9)
    assert item["burn"][0] == {"window_s": 300, "rate": pytest.approx(1.0)}


def test_few_requests_are_said() -> None:
    """A share of 90 % to within 5 % takes 139 requests (z² · 0.09 / 0.0025)."""
    few, enough = (standing(JOINT, all_limits([(1, 0)] * n)) for n in (138, 139))

    assert (139, True, False) == (few.needed, few.few, enough.few)
