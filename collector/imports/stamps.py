"""A moment in a table as whole nanoseconds of its column's clock, without rounding through a float."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal, InvalidOperation
from typing import Any, Final

__all__ = ["UNITS", "Stamp", "is_number", "number", "parse_stamp", "shown", "wall_nanoseconds"]

UNITS: Final = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
"""Unit of a numeric stamp → nanoseconds."""

_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9})\d*)?\s*(Z|z|UTC|[+-]\d\d:?\d\d)?"
)
_DIGITS = 30
_SHOWN = 40
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Stamp:
    """Nanoseconds of some clock; `dated` when it was written as a date, `zoned` when with its zone."""

    ns: int
    dated: bool = False
    zoned: bool = True


def shown(value: Any) -> str:
    """Write a cell for a message: as in the file, and short."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text):,} characters)"


def is_number(value: Any) -> bool:
    """Whether a cell holds a number, were it one too large to be used; an empty one holds none."""
    if isinstance(value, bool) or not isinstance(value, int | str | Decimal | float):
        return False
    try:
        return not Decimal(str(value).strip()).is_nan()
    except InvalidOperation:
        return False


def number(value: Any) -> Decimal | None:
    """The number in a cell, exactly; None for an empty one. ValueError for anything else."""
    if value is None or isinstance(value, str) and not value.strip():
        return None
    if isinstance(value, bool) or not isinstance(value, (int, str, Decimal, float)):
        raise ValueError(f"{shown(value)} is no number")
    try:
        found = Decimal(str(value).strip())
    except InvalidOperation:
        raise ValueError(f"{shown(value)} is no number") from None
    if found.is_nan():
        return None
    if found.is_infinite() or found.adjusted() > _DIGITS:
        raise ValueError(f"{shown(value)} is too large a number")
    return found


def parse_stamp(value: Any, unit: str) -> Stamp | None:
    """The stamp in a cell, a number in `unit` or a date; None for an empty cell, ValueError for no moment."""
    if isinstance(value, datetime):  # Parquet has times as such
        return _moment(value)
    if isinstance(value, str) and (written := _RFC3339.fullmatch(value.strip())):
        return _dated(*written.groups())
    found = number(value)
    return None if found is None else Stamp(int(found * UNITS[unit]))


def _moment(value: datetime) -> Stamp:
    utc = value if value.tzinfo else value.replace(tzinfo=UTC)
    beyond_us = int(getattr(value, "nanosecond", 0))  # pandas keeps what datetime cannot
    return Stamp(
        (utc - _EPOCH) // timedelta(microseconds=1) * 1000 + beyond_us, True, value.tzinfo is not None
    )


def wall_nanoseconds(text: str) -> int:
    """An RFC 3339 moment as nanoseconds since 1970; ValueError when it is none."""
    written = _RFC3339.fullmatch(text.strip())
    if not written:
        raise ValueError(f"{text!r} is no RFC 3339 moment, such as 2026-04-25T18:47:18Z")
    return _dated(*written.groups()).ns


def _dated(day: str, time: str, fraction: str | None, zone: str | None) -> Stamp:
    moment = datetime.fromisoformat(f"{day}T{time}").replace(tzinfo=_zone(zone))
    ns = (moment - _EPOCH) // timedelta(seconds=1) * UNITS["s"] + int((fraction or "").ljust(9, "0"))
    return Stamp(ns, dated=True, zoned=zone is not None)


def _zone(written: str | None) -> timezone:
    if written is None or written.upper() in ("Z", "UTC"):
        return UTC
    sign = -1 if written[0] == "-" else 1
    return timezone(sign * timedelta(hours=int(written[1:3]), minutes=int(written[-2:])))
