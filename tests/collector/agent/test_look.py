"""One look at a machine: two reads, the growth of totals, and what is not there."""

from otel_attrib.collector.agent.look import look
from otel_attrib.collector.agent.source import Source, Unavailable, series
from otel_attrib.testing_agent import FakeSource

CLOCK, IN = series("gpu_clock", "0"), series("pcie_bytes_in", "0")


def test_totals_grow_between_two_reads() -> None:
    """Bytes that grew by 500 have a rate above nought; a gauge has none; the last value is shown."""
    numbers = iter([1000.0, 1500.0])
    source = FakeSource(lambda: [(CLOCK, 1980.0), (IN, next(numbers))], "cards")
    found = look({"cards": lambda: source}, 0.01)
    clock, received = found.seen[0].values

    assert (1980.0, None) == (clock.value, clock.per_s)
    assert 1500.0 == received.value
    assert 500 / 0.01 >= (received.per_s or 0) > 500
    assert (2, True) == (source.reads, source.closed)


def test_what_is_not_there_is_told() -> None:
    """A source that cannot be opened and one that cannot be read are both missing, with the reason."""

    def absent() -> Source:
        raise Unavailable("no driver")

    def gone() -> list[tuple[object, float]]:
        raise OSError(5, "the card is gone")

    broken = FakeSource(gone, "broken")  # type: ignore[arg-type] # it never returns
    found = look({"absent": absent, "broken": lambda: broken}, 0.0)

    assert [] == found.seen
    assert "no driver" == found.missing["absent"]
    assert "the card is gone" in found.missing["broken"]
    assert broken.closed


def test_a_total_seen_once_has_no_rate() -> None:
    """A series that was not there at the first read has no growth yet."""
    reads = iter([[], [(IN, 7.0)]])
    (value,) = look({"cards": lambda: FakeSource(lambda: next(reads), "cards")}, 0.0).seen[0].values

    assert (7.0, None) == (value.value, value.per_s)


def test_refused_values_are_told() -> None:
    """A value that is no measurement is listed apart."""
    (seen,) = look({"cards": lambda: FakeSource(lambda: [(CLOCK, 9e9)], "cards")}, 0.0).seen

    assert 0 == len(seen.values)
    assert [(CLOCK, 9e9)] == list(seen.refused)
