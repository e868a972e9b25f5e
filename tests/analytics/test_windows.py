"""Windows from what users type."""

from datetime import UTC, datetime, timedelta

import pytest

from otel_attrib.analytics.windows import (
    Window,
    duration_text,
    parse_duration,
    parse_time,
    parse_window,
    rfc3339,
)
from otel_attrib.errors import UsageError

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("15m", 900), ("2h", 7200), ("7d", 604800), ("1w", 604800)]
)
def test_durations(text: str, seconds: int) -> None:
    """Each unit is what it says."""
    assert timedelta(seconds=seconds) == parse_duration(text)


@pytest.mark.parametrize("text", ["", "15", "m", "0m", "-5m", "15 minutes", "1.5h"])
def test_no_duration(text: str) -> None:
    """Anything else is refused with the forms that work."""
    with pytest.raises(UsageError, match="90s, 15m, 2h, 7d, 1w"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-05-01T12:00:00Z", "2026-05-01T12:00:00Z"),
        ("2026-05-01T14:00:00+02:00", "2026-05-01T12:00:00Z"),
        ("2026-05-01T12:00:00.25Z", "2026-05-01T12:00:00.25Z"),
        ("2026-05-01", "2026-05-01T00:00:00Z"),
    ],
)
def test_times_come_back_in_utc(text: str, expected: str) -> None:
    """A time with any offset is written back in UTC."""
    assert expected == rfc3339(parse_time(text))


def test_back_from_an_end() -> None:
    """A duration ends at the given time; FROM..TO ignores it."""
    assert Window(NOON - timedelta(minutes=15), NOON) == parse_window("15m", NOON)
    typed = parse_window("2026-05-01T08:00:00Z..2026-05-01T09:00:00Z", NOON)
    assert "2026-05-01T08:00:00Z..2026-05-01T09:00:00Z" == str(typed)


def test_an_empty_window_is_refused() -> None:
    """A window that ends before it starts holds nothing."""
    with pytest.raises(UsageError, match="must end after it starts"):
        parse_window("2026-05-01T09:00:00Z..2026-05-01T08:00:00Z", NOON)


@pytest.mark.parametrize("text", ["90s", "15m", "2h", "7d", "25h"])
def test_a_duration_comes_back_as_typed(text: str) -> None:
    """A duration is written in the largest unit that keeps it whole."""
    assert text == duration_text(parse_duration(text))


def test_a_duration_of_no_whole_second() -> None:
    """What lies between two seconds is written with decimals."""
    assert "54.25s" == duration_text(timedelta(seconds=54, milliseconds=250))


def test_a_mark_inside_moves_the_start() -> None:
    """Only a mark inside the window cuts it."""
    window = parse_window("15m", NOON)
    deploy = NOON - timedelta(minutes=5)

    assert Window(deploy, NOON) == window.from_mark(deploy)
    assert window == window.from_mark(NOON - timedelta(hours=1)) == window.from_mark(None)


@pytest.mark.parametrize("text", ["1000000d", "99999999999999999999w", "7301d", "9" * 5000 + "s"])
def test_a_duration_of_centuries_is_refused(text: str) -> None:
    """What reaches back further than twenty years is the user's mistake, not an overflow."""
    with pytest.raises(UsageError, match=r"too long: .*7300d"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z"])
def test_a_time_before_all_data_is_refused(text: str) -> None:
    """Nothing can be stored before 1970, and the longest duration reaches back from any later time."""
    with pytest.raises(UsageError, match="before 1970"):
        parse_time(text)
    assert 1950 == parse_window("7300d", parse_time("1970-01-01T00:00:00Z")).start.year


def test_units_are_listed() -> None:
    """A unit that is none is answered with those there are."""
    with pytest.raises(UsageError, match="'1ms' is no duration; write a whole number of s, m, h, d or w"):
        parse_duration("1ms")
