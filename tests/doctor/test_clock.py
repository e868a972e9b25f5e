"""Clocks are judged by what the kernel says of them."""

import itertools

import pytest

from otel_attrib.collector.sources.clock import KernelClock, read_kernel_clock
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
    ("told", "level", "text"),
    [
        (KernelClock(False, 0.0025, 0.0), "WARN", "not synchronised"),
        (KernelClock(True, 0.0025, 0.0), "OK", "2.5 ms"),
        (OSError(1, "forbidden"), "OK", "not visible"),
    ],
    ids=["unsynchronised", "synchronised", "unknown"],
)
def test_ntp(monkeypatch: pytest.MonkeyPatch, told: KernelClock | OSError, level: str, text: str) -> None:
    """What the kernel says tells whether offsets between hosts are known."""

    def ask() -> KernelClock:
        if isinstance(told, OSError):
            raise told
        return told

    monkeypatch.setattr(clock, "read_kernel_clock", ask)
    (found,) = clock.synchronised(Surroundings())

    assert level == found.level
    assert text in found.text


def test_kernel_is_read_without_rights() -> None:
    """adjtimex(2) fills the structure here, as it does for any user."""
    assert 0 <= read_kernel_clock().most <= 16 + 1
