"""The engine's admission against queues with known formulas and a step loop written apart."""

from math import factorial, inf

import numpy as np
import pytest

from otel_attrib.analytics.replay.engine import Demand, Limits, serve


def demand(at: np.ndarray, work: np.ndarray, **others: np.ndarray) -> Demand:
    """Requests of one engine; what is not told is 0 ms, 1 token, and no rest of a step."""
    n = at.size
    known = {
        "engine": np.zeros(n, dtype=np.int64),
        "holding": np.zeros(n),
        "fresh": np.ones(n),
        "held": np.ones(n),
        "residual": np.zeros(n),
    }
    return Demand(at=at, work=work, **{**known, **others})


def test_one_prompt_a_step_is_an_m_d_1_queue() -> None:
    """With a step for each prompt and equal work, the mean wait is ρs / 2(1 − ρ) (Pollaczek–Khinchine)."""
    rng = np.random.default_rng(1)
    rho, n = 0.7, 200_000
    at = np.cumsum(rng.exponential(1 / rho, n))

    served = serve(demand(at, np.ones(n)), {0: Limits(budget=1.0)})

    assert served.waits.mean() == pytest.approx(rho / (2 * (1 - rho)), rel=0.03)


def test_seats_alone_are_an_m_m_c_queue() -> None:
    """With prompts that cost nothing and c seats held for exponential times, waits are Erlang C's."""
    rng = np.random.default_rng(2)
    seats, rho, n = 4, 0.8, 200_000
    at = np.cumsum(rng.exponential(1 / (rho * seats), n))
    offered = rho * seats
    last = offered**seats / factorial(seats) / (1 - rho)
    all_busy = last / (sum(offered**k / factorial(k) for k in range(seats)) + last)

    served = serve(demand(at, np.zeros(n), holding=rng.exponential(1, n)), {0: Limits(seats=seats)})

    assert served.waits.mean() == pytest.approx(all_busy / (seats - offered), rel=0.05)


def test_cache_admits_what_fits() -> None:
    """Two requests of 60 tokens never hold a cache of 100 together; one larger than it runs alone."""
    at, holding = np.array([0.0, 1.0, 2.0]), np.full(3, 10.0)

    served = serve(
        demand(at, np.zeros(3), holding=holding, held=np.array([60.0, 60.0, 500.0])), {0: Limits(cache=100)}
    )

    assert served.waits.tolist() == [0.0, 9.0, 18.0]


def test_a_long_prompt_is_computed_in_steps_before_newcomers() -> None:
    """250 tokens at 100 a step take three steps; a newcomer shares the last one and both end with it."""
    at = np.array([0.0, 1.0])

    served = serve(
        demand(at, np.array([25.0, 5.0]), fresh=np.array([250.0, 50.0])), {0: Limits(budget=100.0)}
    )

    assert served.waits.tolist() == [0.0, 19.0]
    assert served.stays.tolist() == [30.0, 10.0]


def test_who_arrives_while_the_engine_decodes_waits_for_the_step_to_end() -> None:
    """The rest of the running step is waited for, an idle engine starts at once."""
    at = np.array([0.0, 5.0, 50.0])

    served = serve(
        demand(at, np.ones(3), holding=np.full(3, 20.0), residual=np.full(3, 0.5)), {0: Limits()}
    )

    assert served.waits.tolist() == [0.0, 0.5, 0.0]


def test_engines_do_not_wait_for_each_other() -> None:
    """Two engines served together give what each gives alone."""
    rng = np.random.default_rng(3)
    at = np.concatenate([np.cumsum(rng.exponential(1.2, 500)) for _ in range(2)])
    work = rng.exponential(1, 1000)
    engine = np.repeat([0, 1], 500)
    limits = {0: Limits(seats=2, budget=1.0), 1: Limits(budget=1.0)}

    together = serve(demand(at, work, engine=engine), limits).waits
    alone = [serve(demand(at[engine == e], work[engine == e]), {0: limits[e]}).waits for e in (0, 1)]

    assert together.tolist() == np.concatenate(alone).tolist()
    assert inf == Limits().seats
