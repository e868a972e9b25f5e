"""The current requests at the baseline's pace."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from otel_attrib.analytics.columns import Dimension
from otel_attrib.analytics.replay.arrivals import Arrivals
from otel_attrib.analytics.replay.paced import other_sizes, paced_like


def arrivals(engine: list[int], at: list[float], prompt: Any = 100.0) -> Arrivals:
    """Requests on engines at these moments, with these prompts."""
    n = len(at)
    ones, prompts = np.ones(n), np.broadcast_to(np.asarray(prompt, dtype=np.float64), n)
    return Arrivals(
        row=np.arange(n),
        engine=np.array(engine),
        at=np.array(at, dtype=np.float64),
        queue=ones,
        first_step=-np.ones(n, dtype=np.int64),
        last_step=-np.ones(n, dtype=np.int64),
        serving=dict.fromkeys(("kv_init", "prefill", "sample"), ones),
        holding=ones,
        prompt=prompts,
        fresh=prompts,
        chunks=ones,
        held=prompts,
        output=ones,
        group=Dimension.of(np.array(["m"] * n)),
        zero_us=0,
    )


def test_each_engine_has_its_own_pace() -> None:
    """The i-th request of an engine comes when that engine's i-th came before."""
    before = arrivals([0, 0, 1, 1], [0.0, 10.0, 5.0, 20.0])
    seen = arrivals([0, 0, 1], [1.0, 2.0, 3.0])

    assert [0.0, 10.0, 5.0] == paced_like(seen, before).tolist()


def test_more_requests_begin_the_window_anew() -> None:
    """At the baseline's rate twice as many requests take twice as long."""
    before, seen = arrivals([0, 0], [0.0, 10.0]), arrivals([0] * 4, [1.0, 2.0, 3.0, 4.0])

    assert [0.0, 10.0, 10.0, 20.0] == paced_like(seen, before).tolist()


def test_a_new_engine_keeps_its_arrivals() -> None:
    """An engine that the baseline did not have has no other pace."""
    assert [7.0, 8.0] == paced_like(arrivals([1, 1], [7.0, 8.0]), arrivals([0, 0], [0.0, 1.0])).tolist()


@pytest.mark.parametrize(("factor", "told"), [(1.0, False), (1.01, False), (1.3, True)])
def test_sizes_differ_beyond_chance(factor: float, told: bool) -> None:
    """Prompts 30 % longer are other sizes; another draw of the same, or 1 %, is not."""
    first, second = np.random.default_rng(1).lognormal(6, 0.6, (2, 4000))
    before = arrivals([0] * 4000, list(range(4000)), first)
    seen = replace(before, prompt=second * factor)

    assert told is other_sizes(seen, before)
