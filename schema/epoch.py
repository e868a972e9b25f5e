"""Times as the store's `…_us` have them: µs since 1970."""

from datetime import UTC, datetime, timedelta

__all__ = ["EPOCH", "microseconds", "time_at"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(time: datetime) -> int:
    """Return whole µs since 1970."""
    return (time - EPOCH) // timedelta(microseconds=1)


def time_at(us: int) -> datetime:
    """Return the time, in UTC, that is so many µs after 1970 began."""
    return EPOCH + timedelta(microseconds=us)
