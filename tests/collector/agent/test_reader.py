"""One source and its book: what a fault costs, what is said of it, and that it is said once."""

import logging
import math
from collections.abc import Iterable

import pytest

from otel_attrib.collector.agent.reader import Reader
from otel_attrib.collector.agent.readings import Readings
from otel_attrib.collector.agent.source import Reading, series
from otel_attrib.testing_agent import FakeSource, KeepingSink, StillClock

CLOCK = series("gpu_clock", "0")


class Mood:
    """What a source says next: readings, or an exception to raise."""

    def __init__(self) -> None:
        """A clock of 1980 MHz."""
        self.next: Iterable[Reading] | Exception = [(CLOCK, 1980.0)]

    def __call__(self) -> Iterable[Reading]:
        """Say it."""
        if isinstance(self.next, Exception):
            raise self.next
        return self.next


def test_readings_carry_the_middle_of_the_read() -> None:
    """A read that takes 40 ms is placed 20 ms after its begin, on the wall clock."""
    still, sink = StillClock(ns=1_000_000_000_000), KeepingSink()

    def say() -> list[Reading]:
        still.pass_s(0.04)
        return [(CLOCK, 1980.0)]

    reader = Reader(FakeSource(say), [sink], clock=still.clock)
    reader.read()

    assert [1_000_000_000_000 + 20_000_000] == [ns for ns, _ in sink.batches]
    assert 0.04 == pytest.approx(reader.book.duration_s)


def test_every_sink_gets_every_batch() -> None:
    """Two sinks see the same, and the book counts the values once."""
    sinks = [KeepingSink(), KeepingSink()]
    reader = Reader(FakeSource(lambda: [(CLOCK, 1.0)]), sinks)
    for _ in range(3):
        reader.read()

    assert [3, 3] == [len(sink.readings) for sink in sinks]
    assert (3, 3, 0) == (reader.book.reads, reader.book.readings, reader.book.failures)


def test_cpu_of_reads_is_counted() -> None:
    """What a read burns is its own; time in which it waits is not."""
    still = StillClock()

    def say() -> list[Reading]:
        still.burn_s(0.003)
        still.pass_s(0.1)
        return []

    reader = Reader(FakeSource(say), [], clock=still.clock)
    for _ in range(4):
        reader.read()

    assert 0.012 == pytest.approx(reader.cpu_s)


@pytest.mark.parametrize("fault", [OSError(5, "gone"), ValueError("a mistake")], ids=["error", "mistake"])
def test_a_failing_source_is_read_more_rarely(fault: Exception, caplog: pytest.LogCaptureFixture) -> None:
    """Each failed read doubles the interval up to a minute, a good one restores it; it is said once."""
    mood = Mood()
    reader, intervals = Reader(FakeSource(mood, every_s=0.1), []), []
    mood.next = fault
    for _ in range(14):
        reader.read()
        intervals.append(reader.interval_s)
    said = len(caplog.records)
    mood.next = []
    reader.read()

    assert [pytest.approx(min(0.1 * 2**n, 60.0)) for n in range(1, 15)] == intervals
    assert (14, 15, 0.1) == (reader.book.failures, reader.book.reads, reader.interval_s)
    assert 1 == said


def test_each_kind_of_fault_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """Two kinds of faults, in turn and again and again, are two lines."""
    mood = Mood()
    reader = Reader(FakeSource(mood, "cards"), [])
    for number in range(10):
        mood.next = OSError(5, "the card is gone") if number % 2 else PermissionError(13, "not allowed")
        reader.read()

    assert 2 == len(caplog.records)
    assert all(record.getMessage().startswith("cards: ") for record in caplog.records)


def test_refused_values_are_counted_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """209 GB/s over PCIe is refused at every read, and told once with its number."""
    pcie = series("pcie_receive", "3")
    sink = KeepingSink()
    reader = Reader(FakeSource(lambda: [(pcie, 209.7e9), (CLOCK, 1980.0), (CLOCK, math.nan)]), [sink])
    for _ in range(5):
        reader.read()

    assert (10, 5) == (reader.book.refused, reader.book.readings)
    assert {CLOCK} == {one for one, _ in sink.readings}
    assert ["hw.gpu.pcie.throughput of 3 said 2.097e+11 By/s", "hw.gpu.clock.graphics of 0 said nan MHz"] == [
        record.getMessage().removeprefix("fake: ").partition(",")[0] for record in caplog.records
    ]


def test_a_sink_that_fails_is_not_the_sources_fault(caplog: pytest.LogCaptureFixture) -> None:
    """The other sinks get their readings, the read counts as good, and the sink's fault is said once."""

    class Broken:
        def take(self, ns: int, readings: Readings) -> None:
            raise RuntimeError("full")

    sink = KeepingSink()
    reader = Reader(FakeSource(lambda: [(CLOCK, 1.0)]), [Broken(), sink])
    for _ in range(3):
        reader.read()

    assert (3, 0) == (len(sink.batches), reader.book.failures)
    assert 1 == len(caplog.records)


def test_closing_never_raises(caplog: pytest.LogCaptureFixture) -> None:
    """A source that cannot close is told, and ending goes on."""
    source = FakeSource(list)
    source.close = lambda: (_ for _ in ()).throw(OSError(9, "bad descriptor"))  # type: ignore[method-assign] # a fault
    with caplog.at_level(logging.WARNING):
        Reader(source, []).close()

    assert "bad descriptor" in caplog.text
