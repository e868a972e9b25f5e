"""Clocks are judged by what the kernel says of them."""

import itertools

import pytest

from otel_attrib.doctor import clock
from otel_attrib.doctor.check import Surroundings


def test_this_machine() -> None:
    """The machine that runs the tests knows the date and has clocks that run alike."""
    assert ["OK"] == [found.level for found in clock.wall_clock(Surroundings())]
    assert ["OK"] == [found.level for found in clock.rates(Surroundings())]


def test_clock_that_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wall clock that jumps while the monotonic one runs on is warned of."""
    readings = itertools.count(2_000_000_000, -1_000_000)
    monkeypatch.setattr("time.time_ns", lambda: next(readings))
    (found,) = clock.rates(Surroundings())

    assert ("WARN", "clock rate") == (found.level, found.name)


@pytest.mark.parametrize(
    ("status", "level", "text"),
    [(0x0040, "WARN", "not synchronised"), (0x0001, "OK", "2.5 ms"), (None, "OK", "not visible")],
    ids=["unsynchronised", "synchronised", "unknown"],
)
def test_ntp(monkeypatch: pytest.MonkeyPatch, status: int | None, level: str, text: str) -> None:
    """STA_UNSYNC of adjtimex(2) tells whether offsets between hosts are known."""
    state = None if status is None else clock._Timex(status=status, maxerror=2500)
    monkeypatch.setattr(clock, "_adjtimex", lambda: state)
    (found,) = clock.synchronised(Surroundings())

    assert level == found.level
    assert text in found.text


def test_kernel_is_read_without_rights() -> None:
    """adjtimex(2) fills the structure here, as it does for any user."""
    state = clock._adjtimex()

    assert state is not None
    assert 0 <= state.maxerror <= 16_000_000 + 1_000_000
