"""The pieces of a replay, each against a second way to the same number."""

from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.analytics.harrell_davis import quantile
from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.period import rows_of
from otel_attrib.analytics.replay.engine import Served
from otel_attrib.analytics.replay.gate import fit_of
from otel_attrib.analytics.replay.matching import place_rows
from otel_attrib.analytics.replay.own_wait import Times, own_times
from otel_attrib.analytics.replay.shapley import coalitions, shapley
from otel_attrib.analytics.replay.step_cost import Passed, own_speed, passed_between, step_cost
from otel_attrib.analytics.replay.worth import Leaving


def test_shapley_is_the_mean_over_all_orders() -> None:
    """Each value is the player's mean addition over all 24 orders, and they add up to the whole."""
    rng = np.random.default_rng(1)
    players = ("a", "b", "c", "d")
    worth = {some: rng.normal(size=2) for some in coalitions(players)}
    values = shapley(players, worth)

    for player in players:
        added = [
            worth[frozenset(order[: order.index(player) + 1])]
            - worth[frozenset(order[: order.index(player)])]
            for order in permutations(players)
        ]
        assert values[player] == pytest.approx(np.mean(added, axis=0), abs=1e-12)
    whole = worth[frozenset(players)] - worth[frozenset()]
    assert sum(values.values()) == pytest.approx(whole, abs=1e-12)


def test_leaving_a_block_out_is_the_quantile_of_the_rest() -> None:
    """Row b of the worth is the quantile of all values but block b's, computed anew."""
    rng = np.random.default_rng(2)
    values, blocks = rng.lognormal(size=700), rng.integers(0, 6, 700)
    found = Leaving(blocks, 0.99).worth(values)

    expected = [quantile(values, 0.99), *(quantile(values[blocks != b], 0.99) for b in range(6))]
    assert found == pytest.approx(expected, rel=1e-12)


def test_with_both_parts_the_times_are_what_was_observed() -> None:
    """Misfit and the scheduler's change together give each request its own time back, whatever it was."""
    rng = np.random.default_rng(3)
    a, b = (Times(rng.exponential(50, n), rng.exponential(20, n)) for n in (400, 300))
    model_a, model_b = (
        Served(rng.exponential(50, n), rng.exponential(20, n), np.zeros(n)) for n in (400, 300)
    )
    own = own_times((a, b), (model_a, model_b))

    assert own.until_first_token(model_b, changed=True) == pytest.approx(b.waits + b.stays, rel=1e-9)


def test_a_wait_added_to_all_is_the_schedulers_change() -> None:
    """Where the model misses nothing, 30 ms on every wait of the second window come out as 30 ms."""
    rng = np.random.default_rng(4)
    model_a, model_b = (
        Served(rng.exponential(50, 500), rng.exponential(20, 500), np.zeros(500)) for _ in range(2)
    )
    seen = Times(model_a.waits, model_a.stays), Times(model_b.waits + 30.0, model_b.stays)
    own = own_times(seen, (model_a, model_b))

    assert own.change == pytest.approx(np.full(500, 30.0), abs=1e-9)
    assert own.until_first_token(model_b, changed=False) == pytest.approx(model_b.waits + model_b.stays)


def test_a_step_costs_what_it_was_made_of() -> None:
    """Idle time, base, ms a token and ms a sequence of two unlike engines come back from their steps."""
    rng = np.random.default_rng(5)
    engine = np.repeat([0, 1], 4000)
    prompt = np.where(rng.random(8000) < 0.5, 0.0, rng.integers(300, 2000, 8000)).astype(float)
    decode = rng.integers(1, 100, 8000).astype(float)
    idle, base, slope, each = np.array([[9.0, 20.0], [3.0, 5.0], [0.03, 0.06], [0.04, 0.02]])
    lasted = np.maximum(idle[engine], base[engine] + slope[engine] * prompt) + each[engine] * decode
    cost = step_cost(engine, prompt, decode, lasted, 2)

    assert cost is not None
    assert cost.idle == pytest.approx(idle, rel=0.02)
    assert cost.slope == pytest.approx(slope, rel=0.02)
    assert cost.lasts(engine, prompt, decode) == pytest.approx(lasted, rel=0.05)


def test_two_prompts_in_one_step_share_its_tokens() -> None:
    """Of two prompts in one step of 40 ms each is as fast as the step: 4 + 0.03 · 1,200 tokens."""
    engine, n = np.zeros(202, dtype=np.int64), 200
    start = np.append(np.arange(n) * 1000.0, [1e6, 1e6])
    fresh = np.append(np.linspace(100, 1000, n), [400.0, 800.0])
    lasted = np.append(4 + 0.03 * fresh[:n], [40.0, 40.0])
    passed, cost = passed_between(
        engine, start, lasted, fresh, np.ones(202), np.zeros(202), cost=None, engines=1
    )

    assert (4.0, 0.03) == pytest.approx((cost.base[0], cost.slope[0]))
    assert own_speed(passed) == pytest.approx(np.ones(202))


def test_copies_do_not_count_as_slowness() -> None:
    """A step that should take 10 ms and took 30, 20 of them a copy, is as fast as it should be."""
    assert own_speed(Passed(np.array([30.0]), np.array([10.0]), np.array([20.0]))).tolist() == [1.0]


def test_the_gate_holds_at_its_edges() -> None:
    """An exact replay has R² 1 and no error; the mean alone has 0; P99 a fifth too long is refused."""
    waits = np.random.default_rng(6).exponential(10, 5000)
    long_tail = np.where(waits > np.quantile(waits, 0.98), waits * 1.2, waits)

    assert (1.0, 0.0) == pytest.approx((fit_of(waits, waits).r2, fit_of(waits, waits).p99_error))
    assert 0.0 == pytest.approx(fit_of(waits, np.full(5000, waits.mean())).r2)
    assert fit_of(waits, long_tail).r2 > 0.8
    assert not fit_of(waits, long_tail).good


def test_rows_find_their_requests() -> None:
    """Rows in another order, two of them in one microsecond, and one of a request that is not there."""
    table = pa.table(
        {
            "time": pa.array([5, 7, 7, 9], pa.timestamp("us", "UTC")),
            "trace_id": ["a", "b", "c", "d"],
            "ttft_us": [1.0, 2.0, 3.0, 4.0],
        }
    )
    rows = rows_of(table.take(pa.array([3, 2, 1, 0])), METRICS["ttft"])

    assert [2, 1, 0, -1] == place_rows(rows, table, np.array([1, 2, 3])).tolist()
