"""The baseline that is chosen when nobody names one."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from otel_attrib.analytics.baseline import Choice, choose_baseline
from otel_attrib.analytics.filters import parse_filter
from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.windows import Window
from otel_attrib.errors import DataError, UsageError
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 8, 12, tzinfo=UTC)
QUARTER = timedelta(minutes=15)
DAY = timedelta(days=1)
NOW = Window(NOON, NOON + QUARTER)
Requests = Callable[..., pa.Table]


def choose(
    store: Store, typed: str | None = None, where: tuple[str, ...] = (), window: Window = NOW
) -> Choice:
    """Choose for P99 TTFT."""
    return choose_baseline(store, METRICS["ttft"], 0.99, parse_filter(where), window, typed)


def fill(store: Store, requests: Requests, days: dict[int, float], n: int = 600) -> None:
    """Store a quarter of an hour from noon on each of `days` before, its prefill times the factor."""
    for day, factor in days.items():
        table = requests(n, seed=100 + day, start=NOON - day * DAY, factors={"prefill": factor})
        store.insert_arrow("requests", table)


def mark(store: Store, at: datetime, name: str, service: str = "") -> None:
    """Store a deploy."""
    time = pa.field("time", pa.timestamp("us", "UTC"))
    words = [pa.field(field, pa.string()) for field in ("kind", "name", "service")]
    row = {"time": at, "kind": "deploy", "name": name, "service": service}
    store.insert_arrow("marks", pa.Table.from_pylist([row], pa.schema([time, *words])))


def test_just_before_when_there_is_nothing_else(store: Store) -> None:
    """Without marks or earlier days the stretch just before is taken, as long as the window."""
    chosen = choose(store)

    assert "2026-05-08T11:45:00Z..2026-05-08T12:00:00Z" == str(chosen.baseline)
    assert (NOW, ("compared with the 15m just before",)) == (chosen.current, chosen.notes)


@pytest.mark.parametrize("typed", [None, "auto"])
def test_the_middle_of_three_earlier_days(store: Store, requests: Requests, typed: str | None) -> None:
    """Three earlier days with enough requests: the one whose P99 lies between the others' is taken."""
    fill(store, requests, {1: 9.0, 2: 0.2, 5: 1.0})
    chosen = choose(store, typed)

    assert "2026-05-03T12:00:00Z..2026-05-03T12:15:00Z" == str(chosen.baseline)
    expected = "compared with the same hours 5 days before, the middle one of 3 such days by its quantile"
    assert (expected,) == chosen.notes


def test_two_earlier_days_are_too_few(store: Store, requests: Requests) -> None:
    """Two days have no middle: the stretch just before is taken."""
    fill(store, requests, {1: 1.0, 2: 1.0})

    assert NOON == choose(store).baseline.end


def test_a_day_with_few_requests_does_not_count(store: Store, requests: Requests) -> None:
    """A day with fewer than 500 requests, or than a third of the current window's, is no measure."""
    fill(store, requests, {1: 1.0, 2: 1.0})
    fill(store, requests, {3: 1.0}, n=450)
    assert NOON == choose(store).baseline.end

    fill(store, requests, {4: 1.0})
    assert NOON - DAY * 4 < choose(store).baseline.end < NOON - DAY

    fill(store, requests, {0: 1.0}, n=2000)
    assert NOON == choose(store).baseline.end


def test_other_hours_of_a_day_do_not_count(store: Store, requests: Requests) -> None:
    """Requests beside the window's hours make no day."""
    for day in (1, 2, 3):
        for shift in (-QUARTER, QUARTER):
            store.insert_arrow("requests", requests(600, seed=day, start=NOON - day * DAY + shift))

    assert NOON == choose(store).baseline.end


def test_a_filter_counts_its_own_requests(store: Store, requests: Requests) -> None:
    """Days are counted under the condition; a dimension that states do not hold gives no days."""
    fill(store, requests, {1: 1.0, 2: 1.0, 3: 1.0})

    assert NOON > choose(store, where=("service=chat",)).baseline.end
    assert NOON == choose(store, where=("service=mail",)).baseline.end
    assert NOON == choose(store, where=("status=ok",)).baseline.end


def test_a_mark_inside_comes_first(store: Store, requests: Requests) -> None:
    """A deploy inside the window divides it, whatever the earlier days hold; one at its start does not."""
    fill(store, requests, {1: 1.0, 2: 1.0, 3: 1.0})
    mark(store, NOON + timedelta(minutes=5), "v2")
    chosen = choose(store)

    assert "2026-05-08T12:05:00Z..2026-05-08T12:15:00Z" == str(chosen.current)
    assert "2026-05-08T11:50:00Z..2026-05-08T12:05:00Z" == str(chosen.baseline)
    assert ("deploy v2 at 2026-05-08T12:05:00Z: compared before and after it",) == chosen.notes
    later = Window(NOON + timedelta(minutes=5), NOON + QUARTER)
    assert later == choose(store, window=later).current


def test_a_mark_of_another_service_divides_nothing(store: Store) -> None:
    """Asked about one service, another one's deploy is no reason."""
    mark(store, NOON + timedelta(minutes=5), "v2", service="mail")

    assert NOW == choose(store, where=("service=chat",)).current
    assert NOW != choose(store, where=("service=mail",)).current


def test_before_and_a_window_are_taken_as_typed(store: Store, requests: Requests) -> None:
    """`before`, a duration and FROM..TO overrule days and marks."""
    fill(store, requests, {1: 1.0, 2: 1.0, 3: 1.0})
    mark(store, NOON + timedelta(minutes=5), "v2")

    assert "2026-05-08T11:45:00Z..2026-05-08T12:00:00Z" == str(choose(store, "before").baseline)
    assert "2026-05-08T11:00:00Z..2026-05-08T12:00:00Z" == str(choose(store, "1h").baseline)
    typed = "2026-05-01T00:00:00Z..2026-05-02T00:00:00Z"
    assert (typed, NOW) == (str(choose(store, typed).baseline), choose(store, typed).current)


def test_what_was_changed_since_is_said(store: Store) -> None:
    """Marks between the two windows are named, the latest first."""
    mark(store, NOON - timedelta(hours=2), "v1")
    mark(store, NOON - timedelta(hours=1), "v2")
    notes = choose(store, "2026-05-07T12:00:00Z..2026-05-07T12:15:00Z").notes

    expected = "since the baseline: deploy v2 at 2026-05-08T11:00:00Z, deploy v1 at 2026-05-08T10:00:00Z"
    assert (expected,) == notes


def test_same_hour_takes_a_single_day(store: Store, requests: Requests) -> None:
    """Asked for, one earlier day is enough."""
    fill(store, requests, {2: 1.0})
    chosen = choose(store, "same-hour")

    assert "2026-05-06T12:00:00Z..2026-05-06T12:15:00Z" == str(chosen.baseline)
    assert ("compared with the same hours 2 days before",) == chosen.notes


def test_same_hour_that_cannot_be(store: Store) -> None:
    """No such day, a window of days, and a dimension without states are one line each."""
    with pytest.raises(DataError, match="none of the 7 days before holds enough requests"):
        choose(store, "same-hour")
    with pytest.raises(UsageError, match="longer than a day"):
        choose(store, "same-hour", window=Window(NOON - 2 * DAY, NOON))
    with pytest.raises(UsageError, match="cannot count by status"):
        choose(store, "same-hour", where=("status=ok",))


def test_near_1970_nothing_overflows(store: Store) -> None:
    """Days before 1970 hold nothing, and are not asked for."""
    start = datetime(1970, 1, 2, tzinfo=UTC)
    window = Window(start, start + QUARTER)

    assert start == choose(store, window=window).baseline.end


@pytest.mark.parametrize(
    "typed",
    [
        "2026-05-08T12:00:00Z..2026-05-08T12:15:00Z",
        "2026-05-08T11:50:00Z..2026-05-08T12:00:01Z",
        "2026-05-08T12:14:59Z..2026-05-08T13:00:00Z",
        "2026-05-08T12:05:00Z..2026-05-08T12:06:00Z",
    ],
    ids=["the same", "into it", "out of it", "inside"],
)
def test_a_baseline_that_shares_time_with_the_window_is_refused(store: Store, typed: str) -> None:
    """A request cannot be both sides of a comparison; windows that only touch, or lie apart, can be."""
    with pytest.raises(UsageError, match="overlaps the window"):
        choose(store, typed)

    for apart in ("2026-05-08T11:45:00Z..2026-05-08T12:00:00Z", "2026-05-08T12:15:00Z..2026-05-08T12:30:00Z"):
        assert apart == str(choose(store, apart).baseline)
