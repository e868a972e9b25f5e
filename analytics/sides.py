"""The two sides of `diff`: what a user types for each, as a window and a selection of requests.

A side is `SELECTION`, `WINDOW` or `SELECTION@WINDOW`. A selection is `dimension=value`, several joined by
commas (one dimension named twice means either value); a window is `15m`, `2h`, `7d` or `FROM..TO`. A side
without a window has the one of `--window`. Both sides must be different requests, so two that share time
must differ in a dimension.
"""

from dataclasses import dataclass
from datetime import datetime

from otel_attrib.analytics.filters import EVERY_REQUEST, Filter, parse_filter
from otel_attrib.analytics.windows import Window, parse_window
from otel_attrib.errors import UsageError

__all__ = ["Comparison", "SideAsked", "parse_sides"]


@dataclass(frozen=True, slots=True)
class SideAsked:
    """One side: its requests are those of the window that pass the selection."""

    window: Window
    selection: Filter = EVERY_REQUEST


@dataclass(frozen=True, slots=True)
class Comparison:
    """A is the reference, B what is compared with it."""

    a: SideAsked
    b: SideAsked


def parse_sides(a: str, b: str, window: str, end: datetime) -> Comparison:
    """Read both sides; durations reach back from `end`."""
    compared = Comparison(*(_parse(text.strip(), window, end) for text in (a, b)))
    if _may_share(compared):
        raise UsageError(
            f"A ({a}) and B ({b}) may share requests: give windows that do not overlap (FROM..TO),"
            " or another value of the same dimension (version=1.0 version=1.1)"
        )
    return compared


def _parse(text: str, window: str, end: datetime) -> SideAsked:
    if not text:
        raise UsageError(
            "a side is empty; write it as dimension=value, as a window, or as both: version=1.0@2h"
        )
    if "=" not in text:
        return SideAsked(parse_window(text.removeprefix("@"), end))
    words, span = _divided(text)
    return SideAsked(parse_window(span or window, end), parse_filter(words.split(",")))


def _divided(text: str) -> tuple[str, str]:
    """Cut at the last `@`, unless what follows belongs to a value (`tenant=a@b.example`)."""
    words, at, span = text.rpartition("@")
    is_value = "=" in span or not (".." in span or span[:1].isdigit())
    return (text, "") if not at or is_value else (words, span)


def _may_share(compared: Comparison) -> bool:
    a, b = compared.a, compared.b
    apart_in_time = a.window.end <= b.window.start or b.window.end <= a.window.start
    other = dict(b.selection.allowed)
    apart_by_value = any(
        name in other and not set(values) & set(other[name]) for name, values in a.selection.allowed
    )
    return not (apart_in_time or apart_by_value)
