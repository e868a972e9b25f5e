"""The step loop: against queueing theory, against its own plain-Python run, and what it must conserve."""

import os
import subprocess
import sys

import numpy as np
import pytest

from otel_attrib.analytics.columns import Floats, Ints
from otel_attrib.fleet.engine import kernel, quiet
from otel_attrib.fleet.scenario import Fleet, Scenario

PLAIN = """
import sys
import numpy as np
from otel_attrib.fleet import load_scenario, simulate
few = ("windows.requests=60", "windows.warmup=0", "fleet.nodes=1", "fleet.kv_blocks=90",
       "workload.prompt_most=900", "workload.output_most=300", "workload.rate=40")
found = simulate(load_scenario("preemption-storm", few), 5)
np.savez(sys.argv[1], served=found.run.served, steps=found.run.steps, done=found.run.done,
         delivered=found.run.delivered, queued=found.run.queued)
"""


def served(
    fleet: Fleet, queued: Floats, prompt: Ints, output: Ints
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Requests and steps by column, of one quiet replica."""
    requests, steps = quiet(
        Scenario("test", fleet=fleet), "llama-3.1-8b", queued, prompt, output, np.zeros(queued.size, np.int64)
    )
    return (
        dict(zip(kernel().REQUEST, requests.T, strict=True)),
        dict(zip(kernel().STEP, steps.T, strict=True)),
    )


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_one_seat_waits_as_the_theory_says(load: float) -> None:
    """One request at a time, all alike, at random moments: the mean wait is M/D/1's ρS / (2(1 − ρ))."""
    n, fleet = 60_000, Fleet(nodes=1, gpus_per_node=1, max_num_seqs=1)
    prompt, output = np.full(n, 500), np.full(n, 2)
    alone, _ = served(fleet, np.zeros(1), prompt[:1], output[:1])
    _, steps = served(fleet, np.zeros(1), prompt[:1], output[:1])
    service = float(steps["duration"].sum())
    queued = np.cumsum(np.random.default_rng(2).exponential(service / load, n))
    found, _ = served(fleet, queued, prompt, output)

    assert alone["scheduled"][0] == 0.0
    wait = float((found["scheduled"] - queued).mean())
    assert load * service / (2 * (1 - load)) == pytest.approx(wait, rel=0.06)


def test_compiled_equals_plain(tmp_path: str) -> None:
    """The compiled loop gives the bits of the same text run as plain Python, preemptions included."""
    found = []
    for name, switch in (("compiled", "0"), ("plain", "1")):
        file = f"{tmp_path}/{name}.npz"
        subprocess.run(
            [sys.executable, "-c", PLAIN, file],
            env=os.environ | {"NUMBA_DISABLE_JIT": switch},
            check=True,
            timeout=120,
        )
        found.append(np.load(file))

    compiled, plain = found
    assert compiled["served"][:, kernel().REQUEST.index("preemptions")].sum() > 0
    for name in ("served", "steps", "done", "delivered", "queued"):
        np.testing.assert_allclose(plain[name], compiled[name], rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.fixture(scope="module")
def crowded() -> tuple[Fleet, dict[str, Ints], dict[str, Floats], dict[str, Floats]]:
    """300 requests at once through few seats and few KV blocks."""
    rng = np.random.default_rng(1)
    sizes = {"prompt": rng.integers(20, 900, 300), "output": rng.integers(2, 200, 300)}
    fleet = Fleet(nodes=1, gpus_per_node=1, max_num_seqs=24, kv_blocks=300, token_budget=512)
    return fleet, sizes, *served(fleet, np.sort(rng.uniform(0, 2, 300)), sizes["prompt"], sizes["output"])


Crowded = tuple[Fleet, dict[str, Ints], dict[str, Floats], dict[str, Floats]]


def test_limits_hold(crowded: Crowded) -> None:
    """No step runs more requests, tokens or KV blocks than there are."""
    fleet, _, requests, steps = crowded

    assert requests["preemptions"].sum() > 0
    assert steps["running"].max() <= fleet.max_num_seqs
    assert (steps["prefill_tokens"] + steps["decode_tokens"]).max() <= fleet.token_budget
    assert 0.9 < steps["kv_usage"].max() <= 1.0


def test_every_token_is_made_once(crowded: Crowded) -> None:
    """Steps make each output token; computed prompt tokens are the prompts and what preemption made anew."""
    _, sizes, requests, steps = crowded
    again = steps["prefill_tokens"].sum() - sizes["prompt"].sum()

    assert (requests["last"] > 0).all()
    assert sizes["output"].sum() - 300 <= steps["decode_tokens"].sum() + requests["preemptions"].sum()
    assert steps["decode_tokens"].sum() <= sizes["output"].sum() - 300
    assert again > 0


def test_without_pressure_nothing_is_computed_twice() -> None:
    """With blocks and seats enough, prompt tokens are computed once and each later token takes one decode."""
    rng = np.random.default_rng(3)
    prompt, output = rng.integers(20, 5000, 200), rng.integers(1, 100, 200)
    requests, steps = served(Fleet(nodes=1, gpus_per_node=1), np.sort(rng.uniform(0, 5, 200)), prompt, output)

    assert prompt.sum() == steps["prefill_tokens"].sum()
    assert output.sum() - 200 == steps["decode_tokens"].sum()
    assert requests["preemptions"].sum() == 0
    assert (requests["chunks"] >= np.ceil(prompt / 2048)).all()


def test_first_come_first_served(crowded: Crowded) -> None:
    """Requests are scheduled for the first time in the order in which they queued."""
    _, _, requests, _ = crowded

    assert (np.diff(requests["scheduled"]) >= 0).all()


def test_steps_follow_each_other(crowded: Crowded) -> None:
    """A step starts when the one before has ended or later, and its parts add up to it."""
    _, _, _, steps = crowded
    parts = steps["schedule"] + steps["forward"] + steps["sample"] + steps["output"]

    assert (steps["start"][1:] - (steps["start"] + steps["duration"])[:-1] > -1e-9).all()
    np.testing.assert_allclose(parts, steps["duration"], rtol=1e-12)


def test_a_pass_takes_what_the_card_allows() -> None:
    """A lone prompt is bound by arithmetic, a lone token by memory: both follow from the card's figures."""
    from otel_attrib.fleet.cards import card_named, model_named

    fleet = Fleet(nodes=1, gpus_per_node=1, token_budget=8192)
    _, steps = served(fleet, np.zeros(1), np.array([4000]), np.array([2]))
    card, model = card_named(fleet.card), model_named("llama-3.1-8b")
    attention = 4 * model.layers * model.heads * model.head_dim * 4000 * 2000
    compute = (2 * model.params * 4000 + attention) / (card.flops * card.compute_efficiency)
    memory = (2 * model.params + 4001 * model.kv_bytes) / (card.memory_bandwidth * card.memory_efficiency)

    assert compute == pytest.approx(steps["compute"][0], rel=1e-9)
    assert memory == pytest.approx(steps["memory"][1], rel=1e-9)
    assert max(steps["compute"][0], steps["memory"][0]) < steps["forward"][0]
