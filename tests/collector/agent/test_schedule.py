"""Rates on a grid, one thread for all that is quick, and no source that holds up the others."""

import time
from collections.abc import Iterator
from threading import Event

import pytest

from otel_attrib.collector.agent.reader import Reader
from otel_attrib.collector.agent.schedule import Lane, Lanes, next_due
from otel_attrib.collector.agent.source import Reading
from otel_attrib.testing_agent import FakeSource, StillClock, wait_until


@pytest.mark.parametrize(
    ("due", "interval", "now", "expected"),
    [
        (10.0, 0.1, 10.02, (10.1, 0)),
        (10.0, 0.1, 10.35, (10.4, 3)),
        (10.03, 0.1, 10.03, (10.1, 0)),
        (10.07, 0.1, 10.07, (10.2, 0)),
        (7.0, 60.0, 7.0, (60.0, 0)),
        (59.0, 60.0, 59.0, (120.0, 0)),
        (0.30000000000000004, 0.1, 0.31, (0.4, 0)),
    ],
    ids=["on the grid", "three missed", "first read", "first read, near", "long", "long, near", "rounding"],
)
def test_next_due(due: float, interval: float, now: float, expected: tuple[float, int]) -> None:
    """Half an interval at least after a first read, then multiples; missed turns are counted, not made up."""
    following, missed = next_due(due, interval, now)

    assert pytest.approx(expected[0]) == following
    assert expected[1] == missed


def test_each_reader_at_its_own_rate() -> None:
    """In ten seconds a source of 10 Hz, one of 4 Hz and one of a second are read that often."""
    still = StillClock()
    lane = Lane(still.clock)
    sources = [FakeSource(list, every_s=every) for every in (0.1, 0.25, 1.0)]
    for source in sources:
        lane.add(Reader(source, [], clock=still.clock), 0.0)
    while still.steady < 9.99:
        still.pass_s(max(lane.step(), 1e-9))

    assert [100, 40, 10] == [source.reads for source in sources]


def test_readers_of_one_rate_share_a_wake_up() -> None:
    """Ten sources of 10 Hz wake the thread ten times a second, not a hundred."""
    still = StillClock()
    lane = Lane(still.clock)
    for number in range(10):
        still.pass_s(0.007)
        lane.add(Reader(FakeSource(list, f"s{number}"), [], clock=still.clock), still.steady)
        lane.step()
    wakes, began = 0, still.steady
    while still.steady < began + 5:
        still.pass_s(max(lane.step(), 1e-9))
        wakes += 1

    assert wakes <= 52


def test_a_read_longer_than_its_interval_misses_turns() -> None:
    """A source of 10 Hz that takes 250 ms is read about four times a second, and the rest is counted."""
    still = StillClock()

    def slow() -> list[Reading]:
        still.pass_s(0.25)
        return []

    source = FakeSource(slow)
    reader = Reader(source, [], clock=still.clock)
    lane = Lane(still.clock)
    lane.add(reader, 0.0)
    while still.steady < 30.0:
        still.pass_s(max(lane.step(), 1e-9))

    assert 100 == pytest.approx(source.reads, abs=2)
    assert 300 == pytest.approx(source.reads + reader.book.missed, abs=3)


@pytest.fixture
def lanes() -> Iterator[Lanes]:
    """Lanes with real threads."""
    made = Lanes()
    made.start()
    yield made
    made.stop(2.0)


def test_a_source_that_hangs_holds_nobody_up(lanes: Lanes) -> None:
    """While one read hangs the others go on at their rate, in one more thread."""
    go = Event()
    hanging = FakeSource(lambda: [] if go.wait(20) else [], "hanging", 0.02)
    quick = [FakeSource(list, f"quick{n}", 0.02) for n in range(5)]
    for source in (quick[0], hanging, *quick[1:]):
        lanes.add(Reader(source, []))
    assert wait_until(lambda: hanging.reads == 1)
    reads = [source.reads for source in quick]
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        lanes.look()
        time.sleep(0.05)
    go.set()

    assert 1 == hanging.reads or hanging.reads < 5
    assert all(source.reads - before >= 15 for source, before in zip(quick, reads, strict=True))
    assert 2 == len(lanes)


def test_a_slow_source_gets_a_thread_of_its_own(lanes: Lanes) -> None:
    """Reads of 40 ms move to another thread; the quick sources keep their 50 Hz."""

    def sleep() -> list[Reading]:
        time.sleep(0.04)
        return []

    slow = FakeSource(sleep, "slow", 0.05)
    quick = FakeSource(list, "quick", 0.02)
    readers = [Reader(source, []) for source in (slow, quick)]
    for reader in readers:
        lanes.add(reader)

    def parted() -> bool:
        lanes.look()
        return len(lanes) == 2

    assert wait_until(parted)
    missed, reads = readers[1].book.missed, quick.reads
    time.sleep(1.0)
    lanes.look()

    assert 2 == len(lanes)
    assert quick.reads - reads >= 40
    assert readers[1].book.missed - missed <= 5
    assert slow.reads > 10


def test_quick_sources_stay_in_one_thread(lanes: Lanes) -> None:
    """Twenty sources that answer at once need one thread."""
    sources = [FakeSource(list, f"s{n}", 0.02) for n in range(20)]
    for source in sources:
        lanes.add(Reader(source, []))

    def all_read() -> bool:
        lanes.look()
        return all(source.reads > 20 for source in sources)

    assert wait_until(all_read)
    assert 1 == len(lanes)


def test_stop_leaves_a_hanging_read_behind() -> None:
    """Ending takes no longer than allowed, and says that a read did not return."""
    go, lanes = Event(), Lanes()
    lanes.start()
    hanging = FakeSource(lambda: [] if go.wait(20) else [], "hanging")
    reader = Reader(hanging, [])
    lanes.add(reader)
    assert wait_until(lambda: hanging.reads == 1)
    began = time.monotonic()

    assert [reader] == lanes.stop(0.2)
    assert time.monotonic() - began < 2
    go.set()
    assert [] == lanes.stop(5.0)
