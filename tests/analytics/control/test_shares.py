"""Factors and budgets: clamps, identities and properties that hold whatever the tenants do."""

from math import fsum, inf, isclose

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_attrib.analytics.control import Factor, Policy, Tail, budgets, factors
from otel_attrib.errors import UsageError

BOOST, THROTTLE = Policy("boost"), Policy("throttle")
TAILS = st.lists(
    st.builds(
        Tail,
        tenant=st.sampled_from(["a", "b", "c", "d", "e"]),
        n=st.integers(0, 500),
        ms=st.one_of(st.none(), st.floats(1, 10_000)),
        threshold_ms=st.floats(10, 1000),
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda tail: tail.tenant,
)


def one(policy: Policy, ms: float | None, n: int = 100, threshold: float = 100.0) -> Factor:
    """The factor of one tail."""
    (found,) = factors(policy, [Tail("t", n, ms, threshold)])
    return found


@pytest.mark.parametrize(
    ("ms", "boost", "throttle"),
    [
        (100, 1.0, 1.0),
        (150, 1.5, 100 / 150),
        (200, 2.0, 0.5),
        (1000, 2.0, 0.5),
        (80, 0.8, 1.25),
        (50, 0.5, 2.0),
        (1, 0.5, 2.0),
    ],
)
def test_clamps_by_hand(ms: float, boost: float, throttle: float) -> None:
    """P95 over threshold between 0.5 and 2, and its inverse as the throttle."""
    assert boost == one(BOOST, ms).value
    assert throttle == one(THROTTLE, ms).value


@given(st.floats(0.001, 1e6))
def test_throttle_is_the_inverse(ms: float) -> None:
    """The two policies' factors multiply to 1 everywhere, also where both are clamped."""
    assert isclose(1.0, one(BOOST, ms).value * one(THROTTLE, ms).value)


def test_who_says_nothing_keeps_one() -> None:
    """No data and too few requests keep 1, and are told apart."""
    assert [(1.0, "no data"), (1.0, "no data"), (1.0, "too few requests"), (2.0, "breach")] == [
        (found.value, found.state)
        for found in (one(BOOST, None, 0), one(BOOST, None, 50), one(BOOST, 900, 19), one(BOOST, 900, 20))
    ]
    assert "19 requests" in one(BOOST, 900, 19).sentence


def test_worst_objective_counts() -> None:
    """A tenant under two objectives gets the factor of the one that it stands worst in."""
    (found,) = factors(BOOST, [Tail("t", 50, 90, 100, "wide"), Tail("t", 50, 90, 60, "narrow")])

    assert ("narrow", 1.5) == (found.tail.objective, found.value)


def test_smoothing_and_dead_band_by_hand() -> None:
    """Half smoothing is the geometric mean with the factor before; a dead band keeps what hardly differs."""
    tails = [Tail("t", 100, 200.0, 100.0)]

    (smooth,) = factors(Policy(smoothing=0.5), tails, {"t": 0.5})
    (kept,) = factors(Policy(dead_band=0.1), [Tail("t", 100, 109.0, 100.0)], {"t": 1.0})
    (moved,) = factors(Policy(dead_band=0.1), [Tail("t", 100, 111.0, 100.0)], {"t": 1.0})

    assert isclose(1.0, smooth.value) and smooth.raw == 2.0
    assert (1.0, 1.11) == (kept.value, moved.value)


@settings(deadline=None)
@given(TAILS, st.floats(1, 1e6), st.sampled_from([BOOST, THROTTLE]))
def test_budgets_add_up(tails: list[Tail], total: float, policy: Policy) -> None:
    """Budgets add up to the total and shares to 1, whatever the factors are."""
    parts = budgets(factors(policy, tails), None, total)

    assert isclose(total, fsum(part.tokens_s or 0 for part in parts), rel_tol=1e-12)
    assert isclose(1.0, fsum(part.share for part in parts), rel_tol=1e-12)
    assert isclose(1.0, fsum(part.usual for part in parts), rel_tol=1e-12)


@settings(deadline=None)
@given(TAILS, st.floats(1.0, 3.0))
def test_monotone_in_breach(tails: list[Tail], worse: float) -> None:
    """Who gets slower never gets less under boost nor more under throttle; for the others the reverse."""
    first, *others = tails
    slower = [Tail(first.tenant, first.n, None if first.ms is None else first.ms * worse, first.threshold_ms)]
    for policy, sign in ((BOOST, 1), (THROTTLE, -1)):
        before = {part.tenant: part.share for part in budgets(factors(policy, tails))}
        after = {part.tenant: part.share for part in budgets(factors(policy, slower + others))}
        assert sign * (after[first.tenant] - before[first.tenant]) >= -1e-12
        assert all(sign * (after[tail.tenant] - before[tail.tenant]) <= 1e-12 for tail in others)


@settings(deadline=None)
@given(TAILS, st.randoms(use_true_random=False))
def test_order_of_tenants_does_not_matter(tails: list[Tail], random: object) -> None:
    """Tenants in any order give the same budgets in the same order."""
    shuffled = sorted(tails, key=lambda _: random.random())  # type: ignore[attr-defined] # a Random

    assert budgets(factors(BOOST, tails)) == budgets(factors(BOOST, shuffled))


def test_equal_factors_leave_usual_shares() -> None:
    """When all tenants are in the same breach, nobody gains: shares are the usual ones."""
    tails = [Tail("a", 50, 300, 100), Tail("b", 50, 900, 300)]
    parts = budgets(factors(BOOST, tails), {"a": 3.0, "b": 1.0}, 1000)

    assert [("a", 750.0, 0.75), ("b", 250.0, 0.25)] == [(p.tenant, p.tokens_s, p.usual) for p in parts]


def test_by_hand() -> None:
    """Weights 3 : 1 and factors 1 and 2 make 3 : 2."""
    tails = [Tail("a", 50, 100, 100), Tail("b", 50, 400, 100)]

    parts = budgets(factors(BOOST, tails), {"a": 3.0, "b": 1.0}, 500)

    assert [300.0, 200.0] == [part.tokens_s for part in parts]


@pytest.mark.parametrize("total", [0.0, -1.0, inf, float("nan")])
def test_totals_that_are_none(total: float) -> None:
    """A total that cannot be divided is refused."""
    with pytest.raises(UsageError):
        budgets(factors(BOOST, [Tail("a", 50, 100, 100)]), None, total)


def test_weights_and_policies_that_are_none() -> None:
    """Negative weights, weights of nothing, and bounds without 1 are refused."""
    found = factors(BOOST, [Tail("a", 50, 100, 100)])
    for weights in ({"a": -1.0}, {"a": 0.0}):
        with pytest.raises(UsageError):
            budgets(found, weights)
    for wrong in ({"low": 1.5}, {"high": 0.9}, {"smoothing": 0.0}, {"dead_band": 1.0}, {"least": 0}):
        with pytest.raises(UsageError):
            Policy(**wrong)
