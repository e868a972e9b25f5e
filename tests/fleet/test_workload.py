"""Requests as drawn: the rate, the burstiness, the lengths and the tenants that were asked for; shifts."""

from dataclasses import replace

import numpy as np
import pytest

from otel_attrib.fleet import load_scenario, simulate
from otel_attrib.fleet.scenario import Scenario, Workload
from otel_attrib.fleet.workload import ARRIVALS, SOURCES, Requests, draw


def drawn(**asked: object) -> Requests:
    """Requests of 2,000 s at 20 a second."""
    workload = replace(Workload(prompt_most=10**6, output_most=10**6), **asked)  # type: ignore[arg-type]
    return draw(Scenario("test", workload=workload), 20.0, 2000.0, np.random.default_rng(1))


@pytest.mark.parametrize("source", SOURCES)
def test_lengths_have_the_wanted_means(source: str) -> None:
    """Recorded lengths keep their shape and get the means that were asked for."""
    found = drawn(source=source, prompt_mean=1000.0, output_mean=100.0)

    assert found.prompt.mean() == pytest.approx(1000, rel=0.05)
    assert found.output.mean() == pytest.approx(100, rel=0.05)
    assert (found.shared < found.prompt).all()
    assert (found.shared >= 0).all()
    assert found.prompt.std() > 300


@pytest.mark.parametrize("arrivals", ARRIVALS)
def test_arrivals_have_the_wanted_rate(arrivals: str) -> None:
    """The mean rate is the asked one, in order and within the run."""
    found = drawn(arrivals=arrivals, source="azure_code")

    assert found.n / 2000 == pytest.approx(20, rel=0.35 if arrivals == "trace" else 0.03)
    assert (np.diff(found.arrival) >= 0).all()
    assert 0 <= found.arrival.min() < found.arrival.max() < 2000


@pytest.mark.parametrize(("arrivals", "cv"), [("poisson", 1.0), ("gamma", 0.5), ("gamma", 2.5)])
def test_gaps_have_the_wanted_variation(arrivals: str, cv: float) -> None:
    """The gaps' coefficient of variation is 1 for Poisson arrivals and the asked one for gamma."""
    gaps = np.diff(drawn(arrivals=arrivals, cv=cv).arrival)

    assert gaps.std() / gaps.mean() == pytest.approx(cv, rel=0.05)


def test_tenants_have_their_shares() -> None:
    """Tenants come in the shares that were given, whatever these add up to."""
    found = drawn(tenants={"a": 6.0, "b": 3.0, "c": 1.0})

    np.testing.assert_allclose(np.bincount(found.tenant) / found.n, [0.6, 0.3, 0.1], atol=0.01)


def test_engines_get_equal_parts() -> None:
    """Requests are spread evenly: no engine is one round ahead of another."""
    counts = np.bincount(drawn().replica)

    assert counts.max() - counts.min() <= 1 or counts.std() / counts.mean() < 0.01


@pytest.mark.parametrize(
    ("name", "column", "ratio"),
    [
        ("null-prompt-mix", "prompt", 1.5),
        ("null-arrival-burst", "count", 1.4),
        ("null-tenant-burst", "count", 1.4),
    ],
)
def test_shifts_change_what_they_say(name: str, column: str, ratio: float) -> None:
    """In the current window prompts are longer, or requests more, by the shift's amount."""
    found = simulate(load_scenario(name, ("windows.requests=3000", "workload.prompt_most=1000000")), 1)
    arrival = found.run.requests.arrival
    before = (arrival >= found.spans.warm) & (arrival < found.spans.baseline_end)
    after = (arrival >= found.spans.baseline_end) & (arrival < found.spans.end)
    prompt = found.run.requests.prompt
    measured = {
        "prompt": prompt[after].mean() / prompt[before].mean(),
        "count": after.sum() / before.sum(),
    }

    assert measured[column] == pytest.approx(ratio, rel=0.08)


def test_routing_moves_requests() -> None:
    """A routing shift sends one node more than its half, and loses none."""
    found = simulate(load_scenario("null-routing", ("windows.requests=3000",)), 1)
    arrival, node = found.run.requests.arrival, found.run.requests.replica // 4
    before, after = (
        node[(arrival >= a) & (arrival < b)] == 0
        for a, b in ((20, 1e-9 + found.spans.baseline_end), (found.spans.baseline_end, 1e9))
    )

    assert before.mean() == pytest.approx(0.5, abs=0.01)
    assert after.mean() == pytest.approx(0.75, abs=0.03)


def test_a_slow_rank_is_waited_for() -> None:
    """Of two ranks, one throttled: the other's collectives take longer, its own do not, at equal bytes."""
    found = {}
    for card in ("GPU-0", "GPU-1"):
        options = ("windows.requests=400", "fleet.tp=2", f"fault.where=gpu:node-0/{card}")
        run = simulate(load_scenario("clock-throttle", options), 1)
        steps = run.steps.filter(np.array(run.steps["replica"].to_pylist()) == "0")
        times, collectives = steps["time"].to_numpy(), steps["collective_us"].to_numpy()
        middle = np.datetime64(run.windows[1].start.replace(tzinfo=None))
        found[card] = collectives[times >= middle].mean() / collectives[times < middle].mean()

    assert 0.7 < found["GPU-0"] < 1.3
    assert found["GPU-1"] > 1.7
