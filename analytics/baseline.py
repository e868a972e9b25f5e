"""What the current window is compared with, when nobody says: chosen, and the choice explained.

In this order: before the last mark inside the window (the current window then starts at the mark); the
same clock interval of an earlier day, if at least three of the last seven days hold enough requests in
it; the stretch just before. Of several days the one with the middle quantile is taken, so that neither a
bad day nor an unusually good one is the measure. Enough is what a verdict needs (500 requests at P99),
and a third of what the current window holds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from math import isfinite
from typing import Any

from otel_attrib.analytics.filters import ROLLED_UP, Filter
from otel_attrib.analytics.marks import marks_between
from otel_attrib.analytics.metric import Metric
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.verdict import ROWS_ABOVE, rows_above
from otel_attrib.analytics.windows import Window, duration_text, parse_window
from otel_attrib.errors import DataError, UsageError
from otel_attrib.schema.store import Store

__all__ = ["AUTO", "BEFORE", "SAME_HOUR", "Choice", "choose_baseline"]

AUTO, BEFORE, SAME_HOUR = "auto", "before", "same-hour"
DAY = timedelta(days=1)
DAYS = 7
DAYS_NEEDED = 3
LEAST_SHARE = 1 / 3
MARKS_SAID = 3


@dataclass(frozen=True, slots=True)
class Choice:
    """Both windows, and in words how they came about."""

    baseline: Window
    current: Window
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Asked:
    """Whose quantile, where, in which window."""

    store: Store
    metric: Metric
    level: float
    where: Filter
    window: Window


def choose_baseline(
    store: Store, metric: Metric, level: float, where: Filter, window: Window, baseline: str | None
) -> Choice:
    """Return what to compare `window` with: `auto` (or None), `before`, `same-hour`, or a window as typed."""
    asked = _Asked(store, metric, level, where, window)
    word = (baseline or AUTO).strip()
    if word == AUTO:
        chosen = _automatic(asked)
    elif word == BEFORE:
        chosen = _just_before(window)
    elif word == SAME_HOUR:
        chosen = _same_hour(asked)
    else:
        chosen = Choice(_apart(parse_window(word, window.start), word, window), window)
    return Choice(chosen.baseline, chosen.current, chosen.notes + tuple(_since(asked, chosen)))


def _apart(baseline: Window, word: str, window: Window) -> Window:
    """Refuse a baseline that holds requests of the window itself."""
    if baseline.start < window.end and window.start < baseline.end:
        raise UsageError(
            f"--baseline {word} overlaps the window {window}: a request cannot be compared with itself;"
            " name a stretch that ends before the window starts"
        )
    return baseline


def _automatic(asked: _Asked) -> Choice:
    window = asked.window
    inside = [mark for mark in marks_between(asked.store, window, asked.where, 1) if mark.time > window.start]
    if inside:
        (mark,) = inside
        baseline = Window(mark.time - window.length, mark.time)
        return Choice(baseline, window.from_mark(mark.time), (f"{mark}: compared before and after it",))
    days = _days_before(asked)
    if len(days) >= DAYS_NEEDED:
        return _middle_day(window, days)
    return _just_before(window)


def _just_before(window: Window) -> Choice:
    length = duration_text(window.length)
    return Choice(
        Window(window.start - window.length, window.start),
        window,
        (f"compared with the {length} just before",),
    )


def _same_hour(asked: _Asked) -> Choice:
    window = asked.window
    if window.length > DAY:
        raise UsageError(f"--baseline {SAME_HOUR} compares hours of a day; the window is longer than a day")
    unknown = [name for name in asked.where.names() if name not in ROLLED_UP]
    if unknown:
        raise UsageError(
            f"--baseline {SAME_HOUR} cannot count by {', '.join(unknown)}; name the baseline's window"
        )
    days = _days_before(asked)
    if not days:
        raise DataError(
            f"none of the {DAYS} days before holds enough requests at the hours of {window};"
            " use --baseline before, or name a window"
        )
    return _middle_day(window, days)


def _middle_day(window: Window, days: list[tuple[float, int]]) -> Choice:
    _, before = sorted(days)[(len(days) - 1) // 2]
    baseline = Window(window.start - before * DAY, window.end - before * DAY)
    days_text = f"{before} day{'s' if before > 1 else ''} before"
    which = f", the middle one of {len(days)} such days by its quantile" if len(days) > 1 else ""
    return Choice(baseline, window, (f"compared with the same hours {days_text}{which}",))


def _days_before(asked: _Asked) -> list[tuple[float, int]]:
    """Return (quantile in ms, days before) of the earlier days that hold enough requests."""
    if asked.window.length > DAY or not asked.where.rolled_up:
        return []
    sql = statement("earlier_days", state=asked.metric.state, where=asked.where.sql())
    rows = asked.store.rows(sql, {**_seconds(asked), **asked.where.parameters()})
    found = {int(row["days_before"]): (int(row["requests"]), row["ms"]) for row in rows}
    least = LEAST_SHARE * found.get(0, (0, 0.0))[0]
    return [
        (float(ms), day)
        for day, (n, ms) in found.items()
        if day > 0
        and ms is not None
        and isfinite(ms)
        and n >= least
        and rows_above(n, asked.level) >= ROWS_ABOVE
    ]


def _seconds(asked: _Asked) -> dict[str, Any]:
    start, end = asked.window.start.timestamp(), asked.window.end.timestamp()
    return {"from_s": int(start), "to_s": -int(-end // 1), "days": DAYS, "level": asked.level}


def _since(asked: _Asked, chosen: Choice) -> Iterator[str]:
    """Say what was changed between the two windows, where they do not meet."""
    if chosen.baseline.end >= chosen.current.start:
        return
    between = Window(chosen.baseline.end, chosen.current.start)
    marks = marks_between(asked.store, between, asked.where, MARKS_SAID)
    if marks:
        yield f"since the baseline: {', '.join(map(str, marks))}"
