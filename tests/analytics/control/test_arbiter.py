"""The arbiter over a real store: tails by hand, shares that follow, and one number for autoscalers."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from otel_attrib.analytics.control import Policy
from otel_attrib.analytics.control.arbiter import arbiter_object, arbitrate, budget_object
from otel_attrib.analytics.control.ask_control import weights_of
from otel_attrib.analytics.control.pressure import pressure_object
from otel_attrib.analytics.filters import EVERY_REQUEST, parse_filter
from otel_attrib.analytics.objectives import Limit, Objective
from otel_attrib.errors import NotFound, UsageError
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
ALL = Objective("all", "All", EVERY_REQUEST, (Limit("ttft", 100.0),))
ZEN = Objective("zen", "Zen", parse_filter(["tenant=zen"]), (Limit("ttft", 40.0), Limit("tpot", 30.0)))
Put = Callable[..., None]


def test_tails_by_hand(store: Store, put: Put) -> None:
    """P95 of 1 … 100 ms is the value at rank floor(0.95·99)+1 = 95; who was slow gets its ratio."""
    put(store, "acme", 100, 1.0)
    put(store, "zen", 100, 1.5)
    items = {item["tenant"]: item for item in arbiter_object(arbitrate(store, [ALL], NOON))["items"]}

    assert (95.0, 142.5) == (items["acme"]["ms"], items["zen"]["ms"])
    assert (0.95, 1.425) == (items["acme"]["factor"], items["zen"]["factor"])
    assert ("kept", "breach") == (items["acme"]["state"], items["zen"]["state"])


def test_only_the_last_minute_counts(store: Store, put: Put) -> None:
    """Requests of the minute before are not in the tail; who had only those is known, and keeps 1."""
    put(store, "acme", 50, 1.0)
    put(store, "old", 50, 9.0, NOON - timedelta(seconds=60))
    items = {item["tenant"]: item for item in arbiter_object(arbitrate(store, [ALL], NOON))["items"]}

    assert (1.0, "no data", None) == tuple(items["old"][name] for name in ("factor", "state", "ms"))


def test_rounds_end_on_five_seconds(store: Store, put: Put) -> None:
    """Asked in the middle of a round the answer is of its beginning, the same for everybody."""
    put(store, "acme", 100, 1.0)
    early, late = (arbitrate(store, [ALL], NOON + timedelta(seconds=s)) for s in (0.1, 4.9))

    assert NOON == early.end == late.end and early.parts == late.parts


def test_narrower_objective_rules(store: Store, put: Put) -> None:
    """Zen is held to its own 40 ms as well as to everybody's 100, and the worse ratio counts."""
    put(store, "zen", 100, 0.7)
    (item,) = arbiter_object(arbitrate(store, [ALL, ZEN], NOON))["items"]

    assert ("zen", "zen", 66.5 / 40) == (item["tenant"], item["objective"], item["factor"])


def test_budgets_follow_usage_and_factors(store: Store, put: Put) -> None:
    """Usual shares are the tokens of the last day; factors scale them; the sum is the total."""
    put(store, "acme", 100, 1.0, tokens=(300, 30))
    put(store, "zen", 100, 2.0)
    body = budget_object(arbitrate(store, [ALL], NOON, total=1000.0))
    items = {item["tenant"]: item for item in body["items"]}
    expected = 1000 * 0.75 * 0.95 / (0.75 * 0.95 + 0.25 * 1.9)

    assert (0.75, 0.25) == (items["acme"]["usual_share"], items["zen"]["usual_share"])
    assert items["acme"]["tokens_s"] == pytest.approx(expected, rel=1e-12)
    assert 1000.0 == pytest.approx(sum(item["tokens_s"] for item in body["items"]), rel=1e-12)
    assert "tokens used in the last day" == body["weighed_by"]


def test_who_used_nothing_is_not_left_out(store: Store, put: Put) -> None:
    """A tenant that an objective names but that used no tokens yet counts as the least of the others."""
    put(store, "acme", 100, 1.0, tokens=(300, 30))
    put(store, "busy", 100, 1.0, tokens=(600, 60))
    found = arbitrate(store, [ALL, ZEN], NOON, total=100.0)

    assert {"acme": 0.25, "busy": 0.5, "zen": 0.25} == {part.tenant: part.usual for part in found.parts}
    assert "who used none" in found.weighed


def test_throttle_turns_it_round(store: Store, put: Put) -> None:
    """Under throttle the tenant in breach gets less than usual, under boost more."""
    put(store, "acme", 100, 1.0)
    put(store, "zen", 100, 3.0)

    share = {
        name: {p.tenant: p.share for p in arbitrate(store, [ALL], NOON, Policy(name)).parts}["zen"]
        for name in ("boost", "throttle")
    }

    assert share["throttle"] < 0.5 < share["boost"]


def test_smoothing_goes_through_the_minute_again(store: Store, put: Put) -> None:
    """A tenant that has just become slow is believed by and by: less than at once, more than before."""
    put(store, "acme", 100, 0.5, NOON - timedelta(seconds=10))
    put(store, "acme", 100, 4.0, NOON, seconds=10)
    at_once = arbitrate(store, [ALL], NOON, Policy()).parts[0].factor
    smooth = arbitrate(store, [ALL], NOON, Policy(smoothing=0.2)).parts[0].factor

    assert 2.0 == at_once.value == smooth.raw
    assert 0.5 < smooth.value < 2.0


def test_nobody_and_nothing(store: Store) -> None:
    """An empty store recommends nothing, without an error; no objective on the latency is one."""
    assert () == arbitrate(store, [ALL], NOON).parts
    assert () == arbitrate(store, [], NOON).parts
    with pytest.raises(UsageError, match="E2E"):
        from otel_attrib.analytics.control.tails import Asked

        arbitrate(store, [ALL], NOON, asked=Asked("e2e"))


def test_pressure_by_hand(store: Store, put: Put) -> None:
    """The value is P99 of the window over the threshold in force: 99 ms of 100 within the sketch's 1 %."""
    put(store, "acme", 100, 1.0)
    found = pressure_object(store, ALL, NOON, timedelta(minutes=5))

    assert 0.99 == pytest.approx(found["value"], rel=0.0101)
    assert (100, True, 100.0) == tuple(found["limits"][0][name] for name in ("n", "few", "threshold_ms"))


def test_no_request_is_no_number(store: Store, put: Put) -> None:
    """Without a measured request there is no number rather than 0, which would scale in."""
    put(store, "acme", 10, 1.0, NOON - timedelta(hours=1))
    with pytest.raises(NotFound, match="no number"):
        pressure_object(store, ALL, NOON, timedelta(minutes=5))
    with pytest.raises(UsageError, match="limits ttft"):
        pressure_object(store, ALL, NOON, timedelta(minutes=5), "e2e")


@pytest.mark.parametrize("word", ["acme", "acme=", "acme=x", "acme=-1", "acme=inf", "=2=x"])
def test_weights_that_are_none(word: str) -> None:
    """A word that is no tenant with a number is refused with what to write."""
    with pytest.raises(UsageError, match="acme=2"):
        weights_of([word])


def test_weights() -> None:
    """Tenants may hold an equals sign; one given twice is refused."""
    assert {"acme": 2.0, "a=b": 0.5} == weights_of(["acme=2", "a=b=0.5"])
    assert weights_of([]) is None
    with pytest.raises(UsageError, match="twice"):
        weights_of(["a=1", "a=2"])
