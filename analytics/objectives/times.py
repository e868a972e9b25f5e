"""Times in an SLO file: latencies (`450ms`, `1.2s`, `450` are all ms) and OpenSLO's durations (`30d`)."""

import re
from datetime import timedelta
from decimal import Decimal

from otel_attrib.analytics.objectives.node import Node

__all__ = ["duration_of", "duration_word", "latency_of", "latency_word"]

LATENCY = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s)?")
DURATION = re.compile(r"([1-9][0-9]{0,6})([mhdwMQY])")
SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def latency_of(node: Node) -> float:
    """Return milliseconds; a number without a unit is in ms."""
    found = LATENCY.fullmatch(node.text().strip())
    if found is None or float(found[1]) == 0:
        node.fail(f"{node.text()!r} is no latency; write 450ms or 1.2s")
    return float(found[1]) * (1000 if found[2] == "s" else 1)


def latency_word(ms: float) -> str:
    """Write a latency so that `latency_of` reads the same number back."""
    text = format(Decimal(repr(ms)), "f")
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}ms"


def duration_of(node: Node) -> timedelta:
    """Return a duration; months, quarters and years have no fixed length and are refused."""
    found = DURATION.fullmatch(node.text().strip())
    if found is None:
        node.fail(f"{node.text()!r} is no duration; write a whole number of m, h, d or w: 30d")
    if found[2] in "MQY":
        node.fail(f"{node.text()!r} has no fixed length; write days or weeks: 30d, 90d, 365d")
    return timedelta(seconds=int(found[1]) * SECONDS[found[2]])


def duration_word(length: timedelta) -> str:
    """Write a duration of whole minutes in the largest of OpenSLO's units that keeps it whole."""
    seconds = round(length.total_seconds())
    unit = next(unit for unit in ("d", "h", "m") if seconds % SECONDS[unit] == 0)
    return f"{seconds // SECONDS[unit]}{unit}"
