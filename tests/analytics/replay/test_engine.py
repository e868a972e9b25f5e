"""The engine's admission against queues with known formulas and a step loop written apart."""

from math import factorial

import numpy as np
import pytest

from otel_attrib.analytics.replay.engine import Demand, Engine, Limits, serve


def demand(at: np.ndarray, work: np.ndarray, **others: np.ndarray) -> Demand:
    """Requests of one engine; what is not told is 0 ms, 1 token at normal speed, and no rest of a step."""
    n = at.size
    known = {
        "engine": np.zeros(n, dtype=np.int64),
        "speed": np.ones(n),
        "blocking": np.zeros(n),
        "beside": np.zeros(n),
        "fresh": np.ones(n),
        "held": np.ones(n),
        "grows": np.zeros(n),
        "tokens": np.zeros(n),
        "residual": np.zeros(n),
    }
    return Demand(at=at, work=work, **{**known, **others})


def test_one_prompt_a_step_is_an_m_d_1_queue() -> None:
    """With a step for each prompt and equal work, the mean wait is ρs / 2(1 − ρ) (Pollaczek–Khinchine)."""
    rng = np.random.default_rng(1)
    rho, n = 0.7, 200_000
    at = np.cumsum(rng.exponential(1 / rho, n))

    served = serve(demand(at, np.ones(n)), {0: Engine(Limits(budget=1.0))})

    assert served.waits.mean() == pytest.approx(rho / (2 * (1 - rho)), rel=0.03)


def test_seats_alone_are_an_m_m_c_queue() -> None:
    """With prompts that cost nothing and c seats held for exponential times, waits are Erlang C's."""
    rng = np.random.default_rng(2)
    seats, rho, n = 4, 0.8, 200_000
    at = np.cumsum(rng.exponential(1 / (rho * seats), n))
    offered = rho * seats
    last = offered**seats / factorial(seats) / (1 - rho)
    all_busy = last / (sum(offered**k / factorial(k) for k in range(seats)) + last)

    served = serve(
        demand(at, np.zeros(n), tokens=1e3 * rng.exponential(1, n)),
        {0: Engine(Limits(seats=seats), idle=1e-3)},
    )

    assert served.waits.mean() == pytest.approx(all_busy / (seats - offered), rel=0.05)


def test_cache_admits_what_fits() -> None:
    """Two requests of 60 tokens never hold a cache of 100 together; one larger than it runs alone.

    Each has a step of 2 ms for its prompt and ten of 1 ms for its tokens.
    """
    at = np.array([0.0, 1.0, 2.0])
    wanted = demand(at, np.full(3, 2.0), tokens=np.full(3, 10.0), held=np.array([60.0, 60.0, 500.0]))

    served = serve(wanted, {0: Engine(Limits(cache=100), idle=1.0)})

    assert served.waits == pytest.approx([0.0, 11.0, 22.0], abs=1e-6)


def test_a_long_prompt_is_computed_in_steps_before_newcomers() -> None:
    """250 tokens at 100 a step take three steps; a newcomer shares the last one and both end with it."""
    at = np.array([0.0, 1.0])

    served = serve(
        demand(at, np.array([25.0, 5.0]), fresh=np.array([250.0, 50.0])), {0: Engine(Limits(budget=100.0))}
    )

    assert served.waits.tolist() == [0.0, 19.0]
    assert served.stays.tolist() == [30.0, 10.0]


def test_who_arrives_while_the_engine_decodes_waits_for_the_step_to_end() -> None:
    """The rest of the running step is waited for, an idle engine starts at once."""
    at = np.array([0.0, 5.0, 50.0])
    wanted = demand(at, np.ones(3), tokens=np.full(3, 20.0), residual=np.full(3, 0.5))

    served = serve(wanted, {0: Engine(idle=1.0)})

    assert served.waits.tolist() == [0.0, 0.5, 0.0]


def test_prompts_of_others_hold_up_who_decodes() -> None:
    """A seat is kept for a number of steps: 5 of 1 ms, two of which prompts make 6 ms long."""
    at = np.array([0.0, 1.5, 4.5, 5.0])
    wanted = demand(at, np.array([1.0, 6.0, 6.0, 1.0]), tokens=np.array([5.0, 0.0, 0.0, 0.0]))

    served = serve(wanted, {0: Engine(Limits(seats=2), idle=1.0)})

    assert served.waits == pytest.approx([0.0, 0.0, 3.0, 8.5], abs=1e-6)


def test_a_copy_beside_the_engine_delays_its_own_request_alone() -> None:
    """While a prefix is copied for 30 ms others overtake; with the copy in the way they wait for it."""
    at, copy = np.array([0.0, 1.0]), np.array([30.0, 0.0])

    beside = serve(demand(at, np.full(2, 5.0), beside=copy), {0: Engine()})
    in_way = serve(demand(at, np.full(2, 5.0), blocking=copy), {0: Engine()})

    assert beside.waits.tolist() == [0.0, 0.0]
    assert in_way.waits.tolist() == [0.0, 34.0]


def test_a_window_starts_with_the_seats_of_earlier_requests() -> None:
    """Both seats are taken and given back after 5 and 10 steps of 1 ms: that long two requests wait."""
    at = np.array([0.0, 0.0])
    engine = Engine(Limits(seats=2), idle=1.0, occupied=np.array([5.0, 10.0]))

    served = serve(demand(at, np.ones(2), tokens=np.full(2, 100.0)), {0: engine})

    assert served.waits == pytest.approx([5.0, 10.0], abs=1e-6)


def test_engines_do_not_wait_for_each_other() -> None:
    """Two engines served together give what each gives alone."""
    rng = np.random.default_rng(3)
    at = np.concatenate([np.cumsum(rng.exponential(1.2, 500)) for _ in range(2)])
    work = rng.exponential(1, 1000)
    engine = np.repeat([0, 1], 500)
    engines = {0: Engine(Limits(seats=2, budget=1.0), idle=0.5), 1: Engine(Limits(budget=1.0))}

    together = serve(demand(at, work, engine=engine), engines).waits
    alone = [serve(demand(at[engine == e], work[engine == e]), {0: engines[e]}).waits for e in (0, 1)]

    assert together.tolist() == np.concatenate(alone).tolist()
