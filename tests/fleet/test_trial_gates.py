"""The gate that shares: against one in small steps, against the plain gate, and that it loses nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_attrib.fleet import load_scenario, simulate
from otel_attrib.fleet.trial import Asked, run_trial
from otel_attrib.fleet.trial.gate import Gate
from otel_attrib.fleet.trial.play import Arrivals, Rule, play
from otel_attrib.fleet.trial.shared_gate import SharedGate

ASKED = st.lists(st.tuples(st.floats(0, 30), st.floats(5, 200), st.integers(0, 2)), min_size=1, max_size=25)
RATES = {0: 10.0, 1: 30.0, 2: 60.0}
STEP = 0.002


def come(gate: Gate | SharedGate, asked: list[tuple[float, float, int]]) -> None:
    """Put requests in, by their times."""
    for row, (at, tokens, tenant) in enumerate(sorted(asked)):
        gate.come(tenant, row, at, tokens)


def in_small_steps(asked: list[tuple[float, float, int]], burst: float) -> dict[int, float]:
    """The same, a step at a time: the total is divided by the budgets of those whose buckets have room."""
    level = {tenant: rate * burst for tenant, rate in RATES.items()}
    lines: dict[int, list[tuple[int, float, float]]] = {tenant: [] for tenant in RATES}
    for row, (at, tokens, tenant) in enumerate(sorted(asked)):
        lines[tenant].append((row, at, tokens))
    out: dict[int, float] = {}
    now, total = 0.0, sum(RATES.values())
    while any(lines.values()):
        for tenant, line in lines.items():
            while line and line[0][1] <= now and level[tenant] >= -1e-7:
                row, _, tokens = line.pop(0)
                level[tenant] -= tokens
                out[row] = now
        room = [tenant for tenant in RATES if level[tenant] < RATES[tenant] * burst - 1e-7]
        whole = sum(RATES[tenant] for tenant in room)
        for tenant in room:
            most = RATES[tenant] * burst
            level[tenant] = min(level[tenant] + total * RATES[tenant] / whole * STEP, most)
        now += STEP
    return out


@settings(max_examples=20, deadline=None)
@given(ASKED, st.floats(1, 4))
def test_against_small_steps(asked: list[tuple[float, float, int]], burst: float) -> None:
    """Every request goes through when a gate in steps of 2 ms says, within a few steps each."""
    gate = SharedGate(RATES, burst)
    come(gate, asked)
    found = {one.row: one.at for one in gate.release(float("inf"))}

    assert in_small_steps(asked, burst) == pytest.approx(found, abs=STEP * (4 + 4 * len(asked)))


@settings(max_examples=60, deadline=None)
@given(ASKED, st.floats(1, 4))
def test_never_later_than_a_limit(asked: list[tuple[float, float, int]], burst: float) -> None:
    """What others leave only helps: nobody goes through later than where budgets are limits."""
    shared, plain = SharedGate(RATES, burst), Gate(RATES, burst)
    come(shared, asked)
    come(plain, asked)
    limits = {one.row: one.at for one in plain.release(float("inf"))}
    found = {one.row: one.at for one in shared.release(float("inf"))}

    assert set(limits) == set(found)
    assert all(found[row] <= limits[row] + 1e-6 for row in limits)


@settings(max_examples=60, deadline=None)
@given(ASKED, st.lists(st.floats(0.5, 6), min_size=1, max_size=6))
def test_stretches_do_not_matter(asked: list[tuple[float, float, int]], cuts: list[float]) -> None:
    """Released in stretches or at once, every request goes through at the same time."""
    whole, parts = SharedGate(RATES, 2.0), SharedGate(RATES, 2.0)
    come(whole, asked)
    come(parts, asked)
    out, at = [], 0.0
    for cut in cuts:
        at += cut
        out += parts.release(at)
    out += parts.release(float("inf"))

    assert {one.row: one.at for one in whole.release(float("inf"))} == pytest.approx(
        {one.row: one.at for one in out}, abs=1e-6
    )


def test_one_alone_gets_everything() -> None:
    """A tenant with a tenth of the budget that waits alone is served at the whole total."""
    gate = SharedGate(RATES, 1.0)
    come(gate, [(0.0, 110.0, 0), (0.1, 100.0, 0), (0.2, 100.0, 0)])

    assert [0.0, 1.0, 2.0] == pytest.approx([one.at for one in gate.release(float("inf"))])


def test_all_waiting_is_the_plain_gate() -> None:
    """While every tenant waits, each gets its own budget and no more."""
    asked = [(0.0, 10.0 * RATES[tenant], tenant) for tenant in RATES for _ in range(5)]
    shared, plain = SharedGate(RATES, 1.0), Gate(RATES, 1.0)
    come(shared, asked)
    come(plain, asked)

    assert [one.at for one in plain.release(30.0)] == pytest.approx([one.at for one in shared.release(30.0)])


def test_in_a_trial() -> None:
    """With room for all, the sharing gate is the fleet itself; short of it, it holds requests back."""
    sets = ("fleet.nodes=1", "fleet.gpus_per_node=2", "windows.baseline=20", "windows.current=40")
    scenario = load_scenario("null-tenant-burst", (*sets, "windows.warmup=5", "workload.load=0.6"))
    made = simulate(scenario, 1)
    there = Arrivals(scenario, made.run.requests, made.spans, 1)
    shares = scenario.workload.tenants
    wide = play(there, Rule(1e9, shares, dict.fromkeys(shares, 100.0), gate="share"))
    trial = run_trial(Asked(scenario, seeds=2, total=50_000.0, gate="share"))

    assert (made.run.delivered == wide.moments).all()
    assert trial.of("fixed", "chat", "held_ms").min() > 100
    assert "share" == trial.gate
