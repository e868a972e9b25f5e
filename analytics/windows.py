"""The two stretches of time that are compared, from what a user types.

A window is `15m`, `2h` or `7d` back from now (or from `--at`), or `FROM..TO` in RFC 3339; it holds
the requests that arrived from its start up to, and not including, its end. Which window another one is
compared with, when nobody says, is `baseline`'s to choose.
"""

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from otel_attrib.errors import UsageError
from otel_attrib.schema.epoch import EPOCH, microseconds

__all__ = ["Window", "duration_text", "parse_duration", "parse_time", "parse_window", "rfc3339"]

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
DURATION = re.compile(r"(\d+)(s|m|h|d|w)")
LONGEST = timedelta(days=20 * 365)
END = datetime(2106, 1, 1, tzinfo=UTC)  # the store's seconds, 32 bits, end that February


@dataclass(frozen=True, slots=True)
class Window:
    """Requests that arrived in [start, end), both in UTC."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        """Refuse a window that holds no time."""
        if self.end <= self.start:
            raise UsageError(f"window {self} is empty: it must end after it starts")

    def __str__(self) -> str:
        """Write it as it can be typed."""
        return f"{rfc3339(self.start)}..{rfc3339(self.end)}"

    @property
    def length(self) -> timedelta:
        """Return how long it lasts."""
        return self.end - self.start

    def from_mark(self, mark: datetime | None) -> "Window":
        """Return the part after `mark`, or all of it when the mark is not inside."""
        return replace(self, start=mark) if mark is not None and self.start < mark < self.end else self

    def bounds_us(self) -> dict[str, int]:
        """Return both ends as parameters in µs since 1970."""
        return {"from_us": microseconds(self.start), "to_us": microseconds(self.end)}


def rfc3339(time: datetime) -> str:
    """Write a time in UTC with as many decimals as it has."""
    text = time.astimezone(UTC).replace(tzinfo=None).isoformat()
    return f"{text.rstrip('0') if '.' in text else text}Z"


def parse_duration(text: str) -> timedelta:
    """Read `90s`, `15m`, `2h`, `7d` or `1w`; twenty years at most, so that it reaches back from any time."""
    found = DURATION.fullmatch(text.strip())
    if found is None or not found[1].strip("0"):
        raise UsageError(
            f"{text!r} is no duration; write a whole number of s, m, h, d or w: 90s, 15m, 2h, 7d, 1w"
        )
    if len(found[1]) > 9 or int(found[1]) * SECONDS[found[2]] > LONGEST.total_seconds():
        raise UsageError(f"{text!r} is too long: a duration is at most 20 years ({LONGEST.days}d)")
    return timedelta(seconds=int(found[1]) * SECONDS[found[2]])


def duration_text(length: timedelta) -> str:
    """Write a duration in the largest unit that keeps it whole: `15m`, `90s`, `2h`."""
    seconds = length.total_seconds()
    unit = next((u for u in ("d", "h", "m") if seconds % SECONDS[u] == 0), "s")
    return f"{seconds / SECONDS[unit]:.12g}{unit}"


def parse_time(text: str) -> datetime:
    """Read an RFC 3339 time from 1970 to 2105; without an offset it is UTC."""
    try:
        time = datetime.fromisoformat(text.strip())
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageError(f"{text!r} is no time; write it as 2026-05-01T12:00:00Z") from None
    if time < EPOCH:
        raise UsageError(f"{text!r} is before 1970, where nothing can be stored")
    if time >= END:
        raise UsageError(f"{text!r} is after 2105, where nothing can be stored")
    return time


def parse_window(text: str, end: datetime) -> Window:
    """Read `FROM..TO`, or a duration back from `end`."""
    first, dots, last = text.partition("..")
    if dots:
        return Window(parse_time(first), parse_time(last))
    return Window(end - parse_duration(text), end)
