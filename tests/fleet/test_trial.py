"""The trial: its engines are the fleet's own, its gate gives budgets and no more, its numbers are right."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_attrib.analytics.control import Policy
from otel_attrib.errors import UsageError
from otel_attrib.fleet import load_scenario, simulate
from otel_attrib.fleet.scenario import Scenario
from otel_attrib.fleet.trial import ARMS, WHOLE, Asked, Trial, run_trial
from otel_attrib.fleet.trial.gate import Gate
from otel_attrib.fleet.trial.outcome import Measures, jain
from otel_attrib.fleet.trial.play import Arrivals, Rule, play
from otel_attrib.fleet.trial.report import effect, headline, trial_lines, trial_object, trial_rows

SETS = (
    "fleet.nodes=1",
    "fleet.gpus_per_node=2",
    "windows.warmup=5",
    "windows.baseline=25",
    "windows.current=45",
    "workload.load=0.7",
)


SLA = {"chat": 400.0, "agent": 400.0, "batch": 400.0}


def small(name: str, *more: str) -> Scenario:
    """A scenario on two cards, for a minute."""
    return load_scenario(name, (*SETS, *more))


BURST = Asked(small("null-tenant-burst"), seeds=6, thresholds_ms=SLA)


def arrivals(scenario: Scenario, seed: int = 0) -> tuple[Arrivals, np.ndarray]:
    """The requests of a simulation, and when it delivered each token."""
    made = simulate(scenario, seed)
    return Arrivals(scenario, made.run.requests, made.spans, seed), made.run.delivered


def rule(there: Arrivals, total: float, policy: Policy | None = None) -> Rule:
    """Budgets by the scenario's shares."""
    shares = there.scenario.workload.tenants
    return Rule(total, shares, dict.fromkeys(shares, 300.0), policy)


@pytest.fixture(scope="module")
def burst() -> Trial:
    """One tenant sends 80 % more, on six seeds."""
    return run_trial(BURST)


@pytest.mark.parametrize(
    "name", ["null-tenant-burst", "clock-throttle", "preemption-storm", "pcie-width", "slow-client"]
)
def test_an_open_gate_is_the_fleet_itself(name: str) -> None:
    """Without a gate, and with budgets that never bind, every token comes when `simulate` delivers it."""
    there, delivered = arrivals(small(name))

    np.testing.assert_array_equal(delivered, play(there, None).moments)
    np.testing.assert_array_equal(delivered, play(there, rule(there, 1e12, Policy())).moments)


def test_no_token_before_its_budget() -> None:
    """What went through a gate up to any time is at most budget × time + burst + one request."""
    there, _ = arrivals(small("null-tenant-burst"))
    total = 20_000.0
    played = play(there, rule(there, total))
    at = there.queued + played.held
    for number, share in enumerate(there.scenario.workload.tenants.values()):
        mine = there.requests.tenant == number
        order = np.argsort(at[mine])
        used = np.cumsum(there.tokens[mine][order])
        allowed = total * share * (at[mine][order] + 5.0) + there.tokens[mine].max()
        assert (used <= allowed + 1e-6).all()
    assert (played.held >= 0).all() and played.held.max() > 1
    assert (played.ttft > 0).all() and np.isfinite(played.e2e).all()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 50), st.floats(1, 500)), min_size=1, max_size=40),
    st.floats(5, 200),
    st.floats(1, 10),
)
def test_gate_by_a_second_implementation(asked: list[tuple[float, float]], rate: float, burst: float) -> None:
    """A bucket in small steps lets each request through when a step-free one says."""
    come = sorted(asked)
    gate = Gate({0: rate}, burst)
    for row, (at, tokens) in enumerate(come):
        gate.come(0, row, at, tokens)
    found = {one.row: one.at for one in gate.release(float("inf"))}

    debt, last, before = -rate * burst, 0.0, 0.0  # what is owed: below 0 something is left over
    for row, (at, tokens) in enumerate(come):
        now = max(at, before)
        debt = max(debt - rate * (now - last), -rate * burst)
        if debt > 0:
            now, debt = now + debt / rate, 0.0
        assert found[row] == pytest.approx(now, abs=1e-6)
        debt, last, before = debt + tokens, now, now
    assert 0 == gate.waiting


def test_first_come_first_served_inside_a_tenant() -> None:
    """Requests of one tenant leave in the order they came; another tenant's do not wait for them."""
    gate = Gate({0: 1.0, 1: 100.0}, 1.0)
    for row in range(5):
        gate.come(0, row, 0.1 * row, 50)
    gate.come(1, 9, 0.5, 50)
    out = gate.release(1000)

    assert [0, 1, 2, 3, 4] == [one.row for one in out if one.row != 9]
    assert 0.5 == next(one.at for one in out if one.row == 9)
    assert [one.at for one in out] == sorted(one.at for one in out)


def test_rates_change_from_then_on() -> None:
    """A debt of 100 tokens at 10 a second is paid after 4 s at 10 and 3 s at 20."""
    gate = Gate({0: 10.0}, 1.0)
    gate.come(0, 0, 0.0, 110)  # ten were in the bucket
    gate.come(0, 1, 0.0, 1)
    assert [0] == [one.row for one in gate.release(4.0)]
    gate.set_rates({0: 20.0}, 4.0)

    assert [(1, 7.0)] == [(one.row, one.at) for one in gate.release(100.0)]


def test_arms_are_paired(burst: Trial) -> None:
    """Open and fixed see the same requests; the same trial again gives the same numbers."""
    again = run_trial(replace(BURST, seeds=2, total=burst.total))  # the total is of all seeds

    for arm in ARMS:
        assert list(again.fairness[arm]) == list(burst.fairness[arm])[:2]
        assert all(list(again.runs[arm][name]) == list(burst.runs[arm][name])[:2] for name in burst.tenants)


def test_policies_go_their_ways(burst: Trial) -> None:
    """Who bursts waits at its gate: less under boost than under fixed, more under throttle; others gain."""
    held = {arm: burst.of(arm, "chat", "held_ms").mean() for arm in ARMS}

    assert 0 == held["open"] < held["boost"] < held["fixed"] < held["throttle"]
    for tenant in ("agent", "batch"):
        attained = {arm: burst.of(arm, tenant, "attained").mean() for arm in ARMS}
        assert attained["open"] < attained["boost"] < attained["fixed"] < attained["throttle"]


def test_harm_is_told(burst: Trial) -> None:
    """What the gate does to the bursting tenant is called harm, with its interval, in text and JSON."""
    text = " ".join(" ".join(trial_lines(burst)).split())
    body = trial_object(burst, BURST)

    assert "harms" == effect(burst, "throttle", "open", "chat", "attained")
    assert "harm: throttle, chat: attainment -" in text
    assert ("throttle", "chat") in {(each["arm"], each["tenant"]) for each in body["harms"]}
    assert "harms chat" in " ".join(headline(burst))
    assert len(ARMS) * 4 == len(trial_rows(burst))


def test_whole_is_its_tenants(burst: Trial) -> None:
    """Tokens of all tenants are the sum of theirs, in every arm and on every seed."""
    for arm in ARMS:
        parts = sum(burst.of(arm, tenant, "tokens_s") for tenant in burst.tenants)
        np.testing.assert_allclose(parts, burst.of(arm, WHOLE, "tokens_s"), rtol=1e-12)


def test_nothing_to_share_is_told() -> None:
    """Where budgets are above what is asked for, arms are equal and it is said that they change nothing."""
    trial = run_trial(Asked(small("null-stationary", "workload.load=0.3"), seeds=2))

    assert trial.runs["open"] == trial.runs["boost"] == trial.runs["throttle"]
    assert "they change nothing" in " ".join(" ".join(trial_lines(trial)).split())


def made_up(values: dict[str, list[float]]) -> Trial:
    """A trial of one tenant with given attainment by arm and seed."""
    runs = {
        arm: {name: [Measures(1.0, 1.0, value, 1.0, 0.0) for value in seeds] for name in ("t", WHOLE)}
        for arm, seeds in values.items()
    }
    fairness = {arm: [1.0] * 3 for arm in values}
    return Trial("x", (0, 1, 2), ("t",), {"t": 1.0}, {"t": 1.0}, 1.0, 1.0, runs, fairness)


def test_effects_by_hand() -> None:
    """A sure gain helps, a sure loss harms; what may be chance, or is below a point, shows no difference."""
    trial = made_up(
        {
            "open": [0.50, 0.60, 0.70],
            "fixed": [0.55, 0.65, 0.75],
            "boost": [0.40, 0.70, 0.72],
            "throttle": [0.505, 0.605, 0.705],
        }
    )
    worse = made_up({"open": [0.5, 0.6, 0.7], "fixed": [0.4, 0.5, 0.61]})

    assert "helps" == effect(trial, "fixed", "open", "t", "attained")
    assert "harms" == effect(worse, "fixed", "open", "t", "attained")
    assert ["no difference shown"] * 2 == [
        effect(trial, arm, "open", "t", "attained") for arm in ("boost", "throttle")
    ]
    assert trial.change("fixed", "open", "t", "attained").value == pytest.approx(0.05)


def test_jain_by_hand() -> None:
    """Equal shares are 1, one of four with everything is a quarter, nothing at all is equal."""
    found = [jain(np.array(x)) for x in ([2.0, 2.0, 2.0], [4.0, 0, 0, 0], [0.0, 0.0], [1.0, 3.0, np.nan])]

    assert [1.0, 0.25, 1.0, 0.8] == pytest.approx(found)


def test_faults_act_in_the_trial() -> None:
    """A throttled card slows the trial as it slows a simulation, and no share mends it."""
    healthy, broken = (
        run_trial(Asked(replace(small("clock-throttle"), faults=faults), seeds=2))
        for faults in ((), small("clock-throttle").faults)
    )

    slow = broken.of("open", WHOLE, "ttft_p95_ms")
    assert (slow > 1.3 * healthy.of("open", WHOLE, "ttft_p95_ms")).all()
    assert "helps" != effect(broken, "boost", "open", WHOLE, "attained")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"seeds": 1}, "no interval"),
        ({"shares": {"nobody": 1.0}}, "tenants are"),
        ({"thresholds_ms": {"chat": -1.0}}, "none above 0"),
    ],
    ids=["one seed", "unknown tenant", "no threshold"],
)
def test_what_cannot_be_tried(asked: dict[str, object], message: str) -> None:
    """A trial that could not be told is refused with what is wrong."""
    with pytest.raises(UsageError, match=message):
        run_trial(Asked(small("null-stationary"), **asked))  # type: ignore[arg-type] # each is a field
