"""Who made requests wait, against a step loop run again without the cause."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from otel_attrib.analytics.blocks import block_ids
from otel_attrib.analytics.change.decompose import Change, decompose
from otel_attrib.analytics.harrell_davis import quantile
from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.period import Period, rows_of
from otel_attrib.analytics.replay import Replay, replay_queue

LATER = datetime(2026, 5, 1, 14, tzinfo=UTC)
Simulate = Callable[..., Period]


def change_of(baseline: Period, current: Period, level: float = 0.99) -> Change:
    """The change by the repair path alone."""
    blocks = [block_ids(period.rows, period.window) for period in (baseline, current)]
    return decompose(baseline.rows, current.rows, level, blocks[0], blocks[1])


def replayed(baseline: Period, current: Period, level: float = 0.99) -> tuple[Change, Replay]:
    """The change, and what the replay makes of it."""
    change = change_of(baseline, current, level)
    return change, replay_queue(baseline, current, change, level)


def total(change: Change, replay: Replay) -> float:
    """All lines of the books."""
    stages = sum(phi.value for phi in replay.stages.values())
    return stages + replay.workload.value + replay.load.value + replay.unexplained.value


def caused(period: Simulate, faulty: Any, sound: Any) -> float:
    """ms of P99 that the fault added: the same requests with and without it."""
    on, off = (period(plant, LATER).rows.values for plant in (faulty, sound))
    return quantile(on, 0.99) - quantile(off, 0.99)


def test_slow_copies_behind_a_queue_are_charged_with_it(plant: Any, period: Simulate) -> None:
    """Copies nine times as long make others wait: they get that; by tail accounting not 5 % of it."""
    sound = plant.but(seed=1)
    faulty = sound.but(copy=70.0)
    truth = caused(period, faulty, sound)
    change, replay = replayed(period(plant), period(faulty, LATER))

    assert replay.valid, replay.reason
    assert replay.stages["kv_init"].value == pytest.approx(truth, rel=0.1)
    assert change.tail_accounting["kv_init"].value < 0.05 * truth
    assert abs(replay.stages["queue"].value) < 0.1 * truth


def test_slow_prefill_behind_a_queue_is_charged_with_it(plant: Any, period: Simulate) -> None:
    """Two thirds more time a prompt token: prefill gets what the fault did, not only its own time."""
    sound = plant.but(seed=1)
    faulty = sound.but(per_token=0.2)
    truth = caused(period, faulty, sound)
    change, replay = replayed(period(plant), period(faulty, LATER))

    assert replay.valid, replay.reason
    assert replay.stages["prefill"].value == pytest.approx(truth, rel=0.2)
    assert change.stages["prefill"].value < 0.4 * truth


def test_more_requests_are_load(plant: Any, period: Simulate) -> None:
    """With 40 % more arrivals nine tenths of the change are load, and no stage has more than a tenth."""
    change, replay = replayed(period(plant), period(plant.but(seed=1, rate=7.0), LATER))

    assert replay.valid, replay.reason
    assert replay.load.value > 0.9 * change.delta.value
    assert max(abs(phi.value) for phi in replay.stages.values()) < 0.1 * change.delta.value


def test_a_policy_that_lets_requests_wait_is_the_schedulers_own(plant: Any, period: Simulate) -> None:
    """300 ms added to each wait with all services as they were stay with `queue`."""
    sound = plant.but(seed=1)
    _, replay = replayed(period(plant), period(sound.but(hold=300.0), LATER))

    assert replay.valid, replay.reason
    assert caused(period, sound.but(hold=300.0), sound) == pytest.approx(300.0, abs=1.0)
    assert replay.stages["queue"].value > 0.75 * 300.0
    assert abs(replay.stages.get("prefill", replay.load).value) < 30.0


def test_an_engine_that_serves_the_newest_first_is_refused(plant: Any, period: Simulate) -> None:
    """Last come, first served is not the model: the gate says so and the stages stay as they were."""
    upside_down = plant.but(newest_first=True, rate=7.0)
    change, replay = replayed(period(upside_down), period(upside_down.but(seed=1, copy=30.0), LATER))

    assert not replay.valid
    assert "cause unresolved" in replay.reason
    assert replay.r2 is not None and replay.r2 < 0.8
    assert change.stages == replay.stages
    assert 0.0 == replay.load.value


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_the_lines_add_up(plant: Any, period: Simulate, level: float) -> None:
    """Σ stages + workload + load + unexplained is the change, within rounding."""
    change, replay = replayed(period(plant), period(plant.but(seed=1, copy=70.0), LATER), level)

    assert total(change, replay) == pytest.approx(change.delta.value, rel=1e-9)


def test_e2e_is_replayed_too(plant: Any, period: Simulate) -> None:
    """The waiting that slow copies cause is theirs in E2E as in TTFT."""
    baseline, current = period(plant), period(plant.but(seed=1, copy=70.0), LATER)
    whole = [replace(p, rows=rows_of(p.requests, METRICS["e2e"])) for p in (baseline, current)]
    change, replay = replayed(whole[0], whole[1])

    assert replay.valid, replay.reason
    assert replay.stages["kv_init"].value > 3 * change.stages["kv_init"].value
    assert total(change, replay) == pytest.approx(change.delta.value, rel=1e-9)


def test_the_same_windows_give_the_same_replay(plant: Any, period: Simulate) -> None:
    """Twice the same input, twice the same numbers."""
    baseline, current = period(plant), period(plant.but(seed=1, copy=70.0), LATER)

    assert replayed(baseline, current)[1] == replayed(baseline, current)[1]


def test_without_waiting_no_replay_is_needed(plant: Any, period: Simulate) -> None:
    """One request in ten minutes never waits, and the books stay those of the repair path."""
    idle = plant.but(rate=1 / 600, requests=400, base=0.01, per_seat=0.0)
    change, replay = replayed(period(idle), period(idle.but(seed=1), LATER))

    assert replay.valid
    assert replay.reason.startswith("not needed")
    assert (None, None) == (replay.r2, replay.p99_error)
    assert change.stages == replay.stages


def test_a_metric_without_queue_needs_none(plant: Any, period: Simulate) -> None:
    """TPOT has no queue: nothing is replayed."""
    tables = [period(plant).requests, period(plant.but(seed=1), LATER).requests]
    periods = [Period(period(plant).window, rows_of(table, METRICS["tpot"]), table) for table in tables]

    assert "not needed: the metric has no queue" == replayed(periods[0], periods[1])[1].reason


def test_a_sample_of_the_requests_is_refused(plant: Any, period: Simulate) -> None:
    """Half of the requests cannot tell why they waited: for the other half."""
    baseline, current = period(plant), period(plant.but(seed=1, copy=70.0), LATER)
    half = current.requests.take(pa.array(range(0, len(current.requests), 2)))
    sampled = Period(current.window, rows_of(half, METRICS["ttft"], len(current.requests)), half)
    _, replay = replayed(baseline, sampled)

    assert not replay.valid
    assert "1,500 of 3,000 requests of the current window are at hand" in replay.reason


def test_waits_not_observed_are_refused(plant: Any, period: Simulate) -> None:
    """Requests without a queue stage cannot be replayed."""
    baseline, current = period(plant), period(plant.but(seed=1, copy=70.0), LATER)
    nulls = pa.nulls(len(current.requests), pa.float64())
    table = current.requests.set_column(current.requests.column_names.index("queue_us"), "queue_us", nulls)
    blind = Period(current.window, rows_of(table, METRICS["ttft"]), table)
    _, replay = replayed(baseline, blind)

    assert not replay.valid
    assert "waits of the current window were not observed" in replay.reason
