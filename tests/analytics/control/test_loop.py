"""The loop over a real store: what is observed, decided, kept, and in force afterwards."""

import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.analytics.control import ThresholdRule
from otel_attrib.analytics.control.judged import thresholds_in_force
from otel_attrib.analytics.control.loop import ThresholdLoop, turn
from otel_attrib.analytics.control.observe import last_end, look
from otel_attrib.analytics.filters import parse_filter
from otel_attrib.analytics.objectives import Limit, Objective
from otel_attrib.config import Settings
from otel_attrib.errors import StoreError
from otel_attrib.schema.decisions import DecisionRow, decision_into_store, decision_rows
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
RULE = ThresholdRule(period_s=60, day_s=1200)  # twenty minutes stand for the day
CHAT = Objective(
    "chat", "Chat", parse_filter(["service=chat"]), (Limit("ttft", 100.0),), baseline_ms=100.0, buffer_ms=60.0
)
Fill = Callable[[list[float]], None]


@pytest.fixture
def fill(store: Store) -> Iterator[Fill]:
    """Put in minutes before noon of 600 requests each, whose P99 of TTFT is near the given ms."""

    def put(levels: list[float]) -> None:
        rng = np.random.default_rng(7)
        times, ttft = [], []
        for k, level in enumerate(levels):
            start = NOON - timedelta(minutes=len(levels) - k)
            times += [start + timedelta(milliseconds=100 * i) for i in range(600)]
            ttft += (1000 * level * rng.uniform(0.5, 1.0, 600)).tolist()
        n = len(times)
        store.insert_arrow(
            "requests",
            pa.table(
                {
                    "time": pa.array(times, pa.timestamp("us", "UTC")),
                    "trace_id": [f"{i:032x}" for i in range(n)],
                    "service": ["chat"] * n,
                    "status": ["ok"] * n,
                    "output_tokens": pa.array([2] * n, pa.uint32()),
                    "ttft_us": pa.array(ttft, pa.float64()),
                }
            ),
        )

    yield put
    store.command("TRUNCATE TABLE threshold_decisions")


def test_periods_end_whole_and_with_their_requests_stored() -> None:
    """A period is judged once it is over and its lag has passed; ends are whole since 1970."""
    at = NOON + timedelta(seconds=61)

    assert [NOON, NOON + timedelta(minutes=1)] == [last_end(RULE, at, lag) for lag in (30, 1)]


def test_what_is_observed(store: Store, fill: Fill) -> None:
    """Every period of the day is there, empty ones too, with the P99 that numpy gives within 1 %."""
    fill([80.0] * 3)
    seen = look(store, RULE, "ttft", 0.99, CHAT.where, NOON)
    rows = store.rows(
        "SELECT intDiv(toUnixTimestamp(time), 60) AS minute, ttft_us / 1000 AS ms FROM requests"
    )
    by_minute: dict[int, list[float]] = {}
    for row in rows:
        by_minute.setdefault(row["minute"], []).append(row["ms"])
    exact = [float(np.quantile(ms, 0.99, method="lower")) for _, ms in sorted(by_minute.items())]

    assert (20, NOON, 3, 1800) == (len(seen.periods), seen.periods[-1].end, seen.day.measured, seen.day.n)
    assert [0] * 17 + [600] * 3 == [period.n for period in seen.periods]
    assert exact == pytest.approx([period.ms for period in seen.periods[-3:]], rel=0.0101)
    assert seen.day.ms == pytest.approx(np.median(exact), rel=0.0101)


def test_an_incident_moves_nothing(store: Store, fill: Fill) -> None:
    """Three slow minutes after a quiet day are told, and the threshold stays."""
    fill([90.0] * 17 + [250.0] * 3)
    (found,) = turn(store, [CHAT], RULE, NOON, None, lag_s=0)

    assert ("rejected", 100.0) == (found.decision.word, found.decision.after_ms)
    assert found.decision.candidate_ms == pytest.approx(248, rel=0.03)
    assert found.decision.day is not None and found.decision.day.ms == pytest.approx(89, rel=0.03)


def test_a_lasting_level_becomes_the_threshold(store: Store, fill: Fill) -> None:
    """What has lasted for the day is applied, kept once, in force afterwards, and settles."""
    fill([150.0] * 20)
    keep = decision_into_store(store)

    (dry,) = turn(store, [CHAT], RULE, NOON, None, lag_s=0)
    assert [] == decision_rows(store, NOON - timedelta(days=1), NOON)

    (moved,) = turn(store, [CHAT], RULE, NOON, keep, lag_s=0)
    (again,) = turn(store, [CHAT], RULE, NOON, keep, lag_s=0)
    rows = decision_rows(store, NOON - timedelta(days=1), NOON)
    later = NOON + timedelta(minutes=1)

    assert dry.decision == moved.decision == again.decision
    assert (False, True, 1) == (moved.kept, again.kept, len(rows))
    assert ("raise", 100.0, moved.decision.after_ms) == (rows[0].word, rows[0].before_ms, rows[0].after_ms)
    assert rows[0].sentence == moved.decision.sentence and len(rows[0].periods_ms) == 3
    assert 140 < rows[0].after_ms < 152
    assert {("chat", "ttft"): rows[0].after_ms} == {
        name: force.ms for name, force in thresholds_in_force(store, [CHAT], NOON).items()
    }
    assert "settling" == turn(store, [CHAT], RULE, later, None, lag_s=0)[0].decision.word


def test_a_threshold_comes_down_again(store: Store, fill: Fill) -> None:
    """A level well below the threshold that lasts brings it down, to the floor at most."""
    fill([30.0] * 20)
    (found,) = turn(store, [CHAT], RULE, NOON, None, lag_s=0)

    assert ("lower", 40.0) == (found.decision.word, found.decision.after_ms)
    assert "floor" in found.decision.sentence


def test_an_empty_store_decides_nothing(store: Store) -> None:
    """Without a request there is a decision, and it says that there is not enough."""
    (found,) = turn(store, [CHAT], RULE, NOON, None, lag_s=0)

    assert ("not enough data", 100.0) == (found.decision.word, found.decision.after_ms)


def test_the_loop_keeps_on(store: Store, fill: Fill, caplog: pytest.LogCaptureFixture) -> None:
    """A round of the loop beside a service keeps its decision; a store that fails is told and asked again."""

    def gone() -> Store:
        raise StoreError("the store is away")

    fill([150.0] * 20)
    at = NOON + timedelta(seconds=30)
    loop = ThresholdLoop(lambda: store, lambda: [CHAT], decision_into_store, RULE)

    assert [] == ThresholdLoop(gone, lambda: [CHAT], decision_into_store, RULE).round(at)
    assert "the store is away" in caplog.text
    assert ["raise"] == [each.decision.word for each in loop.round(at)]
    assert ["raise"] == [row.word for row in decision_rows(store, NOON - timedelta(days=1), NOON)]


def test_the_loop_begins_only_where_it_is_asked_for() -> None:
    """Beside a service the loop is off unless both objectives and `slo_loop` are set."""
    on = [
        ThresholdLoop.beside(Settings(slo=slo, slo_loop=loop), lambda: pytest.fail("asked")).on
        for slo, loop in (("", True), ("x.yaml", False), ("x.yaml", True))
    ]
    idle = ThresholdLoop.beside(Settings(), lambda: pytest.fail("asked"))
    idle.start()
    idle.stop(1)

    assert [False, False, True] == on


def test_the_loop_runs_by_itself(store: Store) -> None:
    """Started, the loop judges the period that is now, keeps its decision, and ends when stopped."""
    loop = ThresholdLoop(lambda: store, lambda: [CHAT], decision_into_store, RULE, every_s=0.02)
    loop.start()
    begun = time.monotonic()
    rows: list[DecisionRow] = []
    while not rows and time.monotonic() - begun < 15:
        now = datetime.now(UTC)
        rows = decision_rows(store, now - timedelta(minutes=5), now)
    loop.stop(10)
    store.command("TRUNCATE TABLE threshold_decisions")

    assert "not enough data" == rows[0].word
    assert not any(thread.name == "thresholds" for thread in threading.enumerate())
