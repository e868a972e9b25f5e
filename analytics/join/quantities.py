"""How values of counters are written: percent, ms, MHz, bytes in the size that fits, with their unit."""

import re
from collections.abc import Sequence

from otel_attrib.analytics.wording import digits
from otel_attrib.schema.counters import Counter

__all__ = ["title", "written"]

PLAIN = {"1": "", "Cel": " °C", "Hz": " MHz", "s": " ms"}
SCALE = {"Hz": 1e-6, "s": 1e3}
_BESIDE = re.compile(r" \(|,? by (?:`|interface)|, cumulative$")
BYTES = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))


def title(counter: Counter) -> str:
    """Return what a counter means, without what stands behind it: in brackets, what splits it, its kind."""
    return _BESIDE.split(counter.meaning)[0]


def written(
    counter: Counter, value: float, others: Sequence[float | None], rate: bool = False
) -> tuple[str, list[str]]:
    """Write a value with its unit, and others of the same counter in that unit without it; '' for None.

    With `rate` the value of a total is its increase a second.
    """
    scale, unit = _scaled(counter, value)
    if rate and counter.kind == "total":
        unit = f"{unit or ' '}/s"
    return f"{digits(scale * value)}{unit}", ["" if each is None else digits(scale * each) for each in others]


def _scaled(counter: Counter, value: float) -> tuple[float, str]:
    if counter.unit == "1" and counter.most <= 1:
        return 100.0, " %"
    if counter.unit in ("By", "By/s"):
        letter, size = next(((one, size) for one, size in BYTES if abs(value) >= size), ("", 1.0))
        return 1 / size, f" {letter}B{counter.unit[2:]}"
    if counter.unit.startswith("{"):
        return 1.0, ""
    return SCALE.get(counter.unit, 1.0), PLAIN.get(counter.unit, f" {counter.unit}")
