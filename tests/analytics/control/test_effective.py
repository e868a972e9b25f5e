"""Which threshold is in force, from the log alone."""

from datetime import UTC, datetime, timedelta

import pytest

from otel_attrib.analytics.control.effective import Effective, banded, effective
from otel_attrib.analytics.filters import EVERY_REQUEST
from otel_attrib.analytics.objectives import Limit, Objective
from otel_attrib.schema.decisions import DecisionRow

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
TTFT, TPOT = Limit("ttft", 120.0), Limit("tpot", 30.0)
GOLD = Objective("gold", "Gold", EVERY_REQUEST, (TTFT, TPOT), baseline_ms=120.0, buffer_ms=15.0)


def row(
    minutes: int, word: str, after: float, metric: str = "ttft", limit: float = 120.0, objective: str = "gold"
) -> DecisionRow:
    """A decision so many minutes after noon."""
    at = NOON + timedelta(minutes=minutes)
    baseline, buffer = (120.0, 15.0) if metric == "ttft" else (None, None)
    return DecisionRow(
        time=at,
        decided=at,
        objective=objective,
        metric=metric,
        quantile=0.99,
        word=word,
        limit_ms=limit,
        before_ms=0.0,
        after_ms=after,
        candidate_ms=None,
        day_ms=None,
        baseline_ms=baseline,
        buffer_ms=buffer,
        periods_ms=(),
        periods_n=(),
        rule="{}",
        sentence="",
    )


LOG = [
    row(0, "no change", 120),
    row(5, "raise", 130),
    row(10, "rejected", 130),
    row(15, "lower", 110),
    row(5, "raise", 40, "tpot", 30.0),
    row(7, "raise", 999, objective="silver"),
]


@pytest.mark.parametrize(
    ("minutes", "ms", "since"), [(4, 120, None), (5, 130, 5), (14, 130, 5), (15, 110, 15), (600, 110, 15)]
)
def test_last_move_before_a_time(minutes: int, ms: float, since: int | None) -> None:
    """The objective's own limit until a move, and from its very moment on what it was moved to."""
    found = effective(GOLD, TTFT, LOG, NOON + timedelta(minutes=minutes))

    assert (ms, None if since is None else NOON + timedelta(minutes=since)) == (found.ms, found.since)


def test_each_latency_has_its_own() -> None:
    """Moves of TTFT do not move TPOT, and those of another objective neither."""
    later = NOON + timedelta(hours=1)

    assert (110, 40) == (effective(GOLD, TTFT, LOG, later).ms, effective(GOLD, TPOT, LOG, later).ms)


def test_order_of_the_log_does_not_matter() -> None:
    """The log in any order says the same."""
    later = NOON + timedelta(hours=1)

    assert effective(GOLD, TTFT, LOG, later) == effective(GOLD, TTFT, LOG[::-1], later)


def test_an_edited_objective_begins_anew() -> None:
    """Moves decided under another limit are void, and it is told how many."""
    edited = Limit("ttft", 100.0)

    assert Effective(100.0, None, 2) == effective(GOLD, edited, LOG, NOON + timedelta(hours=1))


def test_a_class_bounds_one_latency() -> None:
    """The baseline binds TTFT, and where TTFT is not limited the first latency that is."""
    other = Objective("x", "X", EVERY_REQUEST, (TPOT,), baseline_ms=30.0, buffer_ms=5.0)

    assert (120.0, 15.0) == banded(GOLD, TTFT)
    assert (None, None) == banded(GOLD, TPOT)
    assert (30.0, 5.0) == banded(other, TPOT)


@pytest.mark.parametrize("after", [0.0, -5.0, float("nan"), float("inf")])
def test_no_time_is_no_threshold(after: float) -> None:
    """A move to what no latency can be held to, such as a record cut short says, is void."""
    found = effective(GOLD, TTFT, [row(5, "raise", after)], NOON + timedelta(minutes=9))

    assert (120.0, None, 1) == (found.ms, found.since, found.void)
