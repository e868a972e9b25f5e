"""Counts that are kept: the same as read anew, and late requests within the bound that is told."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from otel_attrib.analytics.filters import EVERY_REQUEST, parse_filter
from otel_attrib.analytics.objectives import Limit, Objective
from otel_attrib.analytics.objectives import minutes as minutes_module
from otel_attrib.analytics.objectives.count_cache import AGAIN, ANEW_S, CountCache, CountCaches
from otel_attrib.analytics.objectives.minutes import count_minutes, last_minute
from otel_attrib.analytics.objectives.tally import Tally
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
NOON_MINUTE = int(NOON.timestamp()) // 60
HOURS = timedelta(hours=6)
BOTH = (
    Objective("a", "a", EVERY_REQUEST, (Limit("ttft", 100), Limit("tpot", 30)), window=HOURS),
    Objective("b", "b", parse_filter(["tenant=zen"]), (Limit("e2e", 300),), window=HOURS / 2),
)
Rows = list[dict[str, Any]]


class Counting:
    """A store that counts the statements asked of it; everything else is the real one's."""

    def __init__(self, store: Store) -> None:
        """Count from 0."""
        self.store, self.asked = store, 0

    def arrow(self, *words: Any) -> Any:
        """Count and ask."""
        self.asked += 1
        return self.store.arrow(*words)

    def rows(self, *words: Any) -> Any:
        """Ask."""
        return self.store.rows(*words)


def same(left: list[Tally], right: list[Tally]) -> bool:
    """Whether two lists of tallies hold the same numbers."""
    return all(
        np.array_equal(a.edges_us, b.edges_us)
        and all(
            np.array_equal(getattr(a.counts[name], part), getattr(b.counts[name], part))
            for name in a.counts
            for part in ("good", "bad", "unmeasured", "rows")
        )
        for a, b in zip(left, right, strict=True)
    )


def anew(store: Store, minute: int) -> list[Tally]:
    """The same minutes read from the rows."""
    return count_minutes(store, BOTH, minute - 360, minute)


def test_kept_counts_are_those_read_anew(store: Store, made: Callable[..., Rows], tabled: Any) -> None:
    """Minute by minute, after hours, and back in time, the cache gives what the rows hold."""
    store.insert_arrow("requests", tabled(made(3000, 1, minutes=600)))
    cache = CountCache(BOTH)

    for after in (100, 101, 101, 133, 200, 450, 600, 590, 2000):
        found = cache.upto(store, NOON_MINUTE + after)
        assert same(anew(store, NOON_MINUTE + after), found), after


def test_late_requests_are_counted_within_the_bound(store: Store, made: Any, tabled: Any) -> None:
    """What arrives late for the last half hour is in at once, older ones when the hour is over."""
    clock = [0.0]
    cache = CountCache(BOTH, lambda: clock[0])
    store.insert_arrow("requests", tabled(made(500, 2, minutes=300)))
    minute = NOON_MINUTE + 300
    cache.upto(store, minute)
    late = [row for row in made(2000, 3, minutes=300) if row["time"] >= NOON + timedelta(minutes=300 - AGAIN)]
    store.insert_arrow("requests", tabled(late))

    assert same(anew(store, minute), cache.upto(store, minute))
    store.insert_arrow("requests", tabled(made(500, 4, minutes=100)))
    assert not same(anew(store, minute), cache.upto(store, minute))
    clock[0] = ANEW_S
    assert same(anew(store, minute), cache.upto(store, minute))


def test_a_question_after_the_first_reads_half_an_hour(store: Store, made: Any, tabled: Any) -> None:
    """The first question takes several statements where there are many requests, the next one each."""
    store.insert_arrow("requests", tabled(made(2000, 5, minutes=300)))
    counting: Any = Counting(store)
    cache = CountCache(BOTH)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(minutes_module, "ROWS_AT_ONCE", 1500)
        cache.upto(counting, NOON_MINUTE + 300)
        first = counting.asked
        cache.upto(counting, NOON_MINUTE + 301)

    assert 5 == first  # weights count too: some 1,000 in each of five hours
    assert first + 1 == counting.asked


@pytest.mark.parametrize("at_once", [1, 700, 10**9])
def test_pieces_add_up(store: Store, made: Any, tabled: Any, at_once: int) -> None:
    """However the minutes are divided into statements, the counts are the same."""
    store.insert_arrow("requests", tabled(made(2000, 6, minutes=300)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(minutes_module, "ROWS_AT_ONCE", at_once)
        found = count_minutes(store, BOTH, NOON_MINUTE - 60, NOON_MINUTE + 300, pieces=True)

    assert same(anew(store, NOON_MINUTE + 300), found)


def test_each_scope_has_a_cache_of_its_own() -> None:
    """The same objectives share one; others do not; sixteen are held and the oldest makes room."""
    caches = CountCaches()
    first = caches.of(BOTH)

    assert first is caches.of(BOTH)
    assert first is not caches.of(BOTH[:1])
    for i in range(16):
        caches.of((Objective(f"x{i}", "", EVERY_REQUEST, (Limit("ttft", 1),)),))
    assert first is not caches.of(BOTH)


def test_the_running_minute_is_left_out() -> None:
    """At 12:00:59 counts end at 12:00; asked for the newest request, its minute is whole."""
    time = NOON + timedelta(seconds=59)

    assert (NOON_MINUTE, NOON_MINUTE + 1) == (last_minute(time), last_minute(time, whole=True))
    assert (NOON_MINUTE, NOON_MINUTE) == (last_minute(NOON), last_minute(NOON, whole=True))
