"""Single values as Kineto writes them: times, whole numbers as text, sizes, and what a copy is called."""

import re
from decimal import Decimal
from math import prod
from typing import Any

from otel_attrib.analytics.profiles.timeline import UNKNOWN, Direction

__all__ = ["copy_direction", "json_text", "micros_to_ns", "one_line", "product", "size_of", "whole"]

ENDS = re.compile(r"([HDPA])(?:ost|evice|eer|rray)?[tT]o([HDPA])")
DIRECTIONS = {
    "HD": Direction.H2D,
    "DH": Direction.D2H,
    "DD": Direction.D2D,
    "PP": Direction.P2P,
    "HH": Direction.H2H,
}
LATEST = 1 << 62
LARGEST = 1 << 50  # bytes: more than any memory has


def micros_to_ns(micros: int | str) -> int:
    """Return microseconds (a whole number, or a number's text) in nanoseconds; raises for what is no time."""
    if type(micros) is int:
        return _in_range(1000 * micros)
    before, _, part = str(micros).partition(".")
    if before.isdecimal() and len(part) <= 3 and (not part or part.isdecimal()):
        return _in_range(1000 * int(before) + int(f"{part:0<3}"))
    return _in_range(int(round(1000 * Decimal(str(micros)))))


def _in_range(ns: int) -> int:
    """Return the time; the sum of two must still be a number of 64 bits."""
    if abs(ns) > LATEST:
        raise OverflowError
    return ns


def whole(value: Any) -> int:
    """Return a whole number that may stand as text, or be the number behind `stream `; else UNKNOWN."""
    if type(value) is int:
        return value if -(1 << 63) <= value < 1 << 63 else UNKNOWN
    digits = str(value).removeprefix("stream ")
    return int(digits) if digits.isdecimal() and len(digits) < 19 else UNKNOWN


def product(sizes: Any) -> int:
    """Return the product of a list of whole numbers, UNKNOWN for anything else."""
    known = isinstance(sizes, list) and sizes and all(type(size) is int for size in sizes)
    return whole(prod(sizes)) if known else UNKNOWN


def json_text(value: Any) -> str:
    """Return a list as it would stand in JSON; numbers with decimals are already text."""
    return str(value).replace("'", '"') if value is not None else ""


def copy_direction(name: str) -> Direction:
    """Return the direction that a copy's name tells: `Memcpy HtoD (Pinned -> Device)`, `CopyHostToDevice`."""
    found = ENDS.search(name)
    return DIRECTIONS.get(found[1] + found[2], Direction.OTHER) if found else Direction.OTHER


def size_of(value: Any) -> int:
    """Return how many bytes were moved; UNKNOWN for what nothing can have moved."""
    size = whole(value)
    return size if 0 <= size <= LARGEST else UNKNOWN


def one_line(text: str) -> str:
    """Return a name as a terminal may show it: what does not print (escapes, line breaks) becomes a space."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else " " for sign in text)
