"""How numbers, layers and slices are written for people: milliseconds, shares, intervals, names."""

import re
import textwrap
from collections.abc import Iterator, Mapping
from math import floor, isfinite

from otel_attrib.analytics.intervals import Estimate

__all__ = [
    "COLUMNS",
    "count",
    "digits",
    "layer_title",
    "milliseconds",
    "one_interval",
    "percent",
    "points",
    "probability",
    "reach",
    "signed",
    "slice_title",
    "wrapped",
]

COLUMNS = 80
NO_BREAK = "\u00a0"
GLUE = re.compile(r"(?<=\d) (?=(?:%|ms)(?:\W|$))|(?<=\bp) (?=[<>\d])")

TITLES = {
    "scheduler": "scheduler",
    "gpu": "GPU",
    "pcie": "PCIe",
    "nvlink": "NVLink",
    "cpu": "host CPU",
    "network": "network",
    "client": "client",
}


def layer_title(layer: str) -> str:
    """Return how a layer is called in a sentence."""
    return TITLES.get(layer, layer)


def digits(number: float) -> str:
    """Write a number with three digits that matter, thousands as thousands: 0.0123, 4.5, 7280, 12,300."""
    return f"{number:.3g}" if abs(number) < 999.5 else _whole(number)


def _whole(number: float, sign: str = "") -> str:
    """Write a whole number, from five digits on with commas between thousands."""
    return f"{number:{sign}{',' if abs(number) >= 9999.5 else ''}.0f}"


def count(number: float) -> str:
    """Write how many as a whole number, rounded down: 49.9 rows are not yet 50."""
    return str(floor(number))


def milliseconds(value: float, sign: bool = False) -> str:
    """Write a time with three digits that matter: 0.12, 45.6, 789, 12,300."""
    size = abs(value)
    decimals = 0 if size >= 100 else 1 if size >= 10 else 2
    shown = 0.0 if round(value, decimals) == 0 else value  # never -0.00
    mark = "+" if sign else ""
    return f"{shown:{mark}.{decimals}f}" if decimals else _whole(shown, mark)


def signed(ms: float) -> str:
    """Write a difference for a table; what rounds to nothing is 0."""
    text = milliseconds(ms, sign=True)
    return text if text.strip("+-0.") else "0"


def percent(share: float) -> str:
    """Write a share in whole percent."""
    shown = round(100 * share)
    return f"{shown + 0:.0f} %"


def probability(p: float) -> str:
    """Write a probability with two decimals, never as certain."""
    return ">0.99" if p > 0.995 else "<0.01" if p < 0.005 else f"{p:.2f}"


def reach(low: float, high: float) -> str:
    """Write the two ends of an interval in ms."""
    if not (isfinite(low) and isfinite(high)):
        return "unknown"
    return f"{milliseconds(low)}…{milliseconds(high)}"


def one_interval(estimate: Estimate) -> str:
    """Write the 95 % interval of an estimate in ms."""
    return reach(*estimate.interval())


def slice_title(where: Mapping[str, str]) -> str:
    """Write which requests: `node3`, `node3:GPU-5` for a device on it, else each `key=value`."""
    if set(where) == {"node", "gpu_set"}:
        return f"{where['node']}:{where['gpu_set']}"
    if set(where) in ({"gpu"}, {"node"}):
        return next(iter(where.values()))
    return " ".join(f"{key}={value}" for key, value in where.items())


def wrapped(text: str, first: str = "", others: str | None = None) -> Iterator[str]:
    """Break a sentence into lines of at most 80 columns, never between a number and its unit."""
    lines = textwrap.wrap(
        GLUE.sub(NO_BREAK, text),
        COLUMNS,
        initial_indent=first,
        subsequent_indent=" " * len(first) if others is None else others,
        break_on_hyphens=False,
    )
    return (line.replace(NO_BREAK, " ") for line in lines)


def points(sign: str, sentences: list[str]) -> Iterator[str]:
    """Write one marked point for each sentence."""
    for sentence in sentences:
        yield from wrapped(sentence, f"  {sign} ")
