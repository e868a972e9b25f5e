"""A heat map as lines of text, at most 80 columns wide: slow on top, time to the right."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from statistics import median

import numpy as np

from otel_attrib.analytics.heatmap import Heatmap
from otel_attrib.analytics.mark_list import MarkRow
from otel_attrib.analytics.windows import duration_text
from otel_attrib.analytics.wording import digits, milliseconds, wrapped

__all__ = ["CELLS", "LINES", "heatmap_lines"]

CELLS, LINES = 64, 20
"""At most so many columns and rows are drawn."""

_LABEL = 10
_SHADES, _LINE, _MARK = " ░▒▓█", "━", "▲"
_PLAIN_SHADES, _PLAIN_LINE, _PLAIN_MARK = " .:*#", "=", "^"
MARKS_SAID = 8


def heatmap_lines(found: Heatmap, marks: Sequence[MarkRow] = (), unicode: bool = True) -> Iterator[str]:
    """Yield the answer, the picture, its axis and its legend; `unicode` False keeps to ASCII."""
    yield from wrapped(_answer(found))
    if not found.n:
        return
    yield ""
    yield from _picture(found, unicode)
    under = _under(found, marks, _MARK if unicode else _PLAIN_MARK)
    if under.strip():
        yield under.rstrip()
    yield _axis(found)
    yield from wrapped(_legend(found, unicode))
    for mark in marks[-MARKS_SAID:]:
        service = f" ({mark.service})" if mark.service else ""
        said = f"{mark.time:%m-%d %H:%M:%S} {mark.kind} {mark.name}{service}"
        yield f"{_MARK if unicode else _PLAIN_MARK} {said}"[:80]


def _answer(found: Heatmap) -> str:
    asked = found.asked
    span = f"{asked.span.start:%Y-%m-%d %H:%M} to {_end(asked.span.start, asked.span.end)} UTC"
    if not found.n:
        return f"no {asked.metric.title} measured from {span}{_where(found)}"
    what = "gaps" if asked.metric.name == "tbt" else "requests"
    shown = [(ms, start) for ms, start in zip(found.line_ms, found.starts, strict=True) if ms is not None]
    name = f"P{100 * asked.level:g} {asked.metric.title}"
    head = f"{found.n:,} {what}{_where(found)} from {span}, a column is {duration_text(_step(found))}"
    if not shown:
        return head
    highest, when = max(shown, key=lambda each: each[0])
    middle = milliseconds(median(ms for ms, _ in shown))
    return (
        f"{name} {middle} ms (median column), highest {milliseconds(highest)} ms at {when:%H:%M:%S}: {head}"
    )


def _where(found: Heatmap) -> str:
    return f" with {found.asked.where}" if found.asked.where.allowed else ""


def _step(found: Heatmap) -> timedelta:
    return timedelta(seconds=found.asked.step)


def _end(start: datetime, end: datetime) -> str:
    return f"{end:%H:%M}" if start.date() == end.date() else f"{end:%Y-%m-%d %H:%M}"


def _stretch(found: Heatmap) -> int:
    """Return how many characters draw one column."""
    return max(1, CELLS // len(found.line_ms))


def _picture(found: Heatmap, unicode: bool) -> Iterator[str]:
    grid, stretch = found.matrix(), _stretch(found)
    shades, line = (_SHADES, _LINE) if unicode else (_PLAIN_SHADES, _PLAIN_LINE)
    scale = np.log1p(grid) / np.log1p(grid.max())
    levels = np.ceil(scale * (len(shades) - 1) - 1e-9).astype(int)
    marked = _rows_of_line(found)
    for row in reversed(range(len(grid))):
        cells = (line if marked[column] == row else shades[level] for column, level in enumerate(levels[row]))
        label = f"{milliseconds(found.edges_ms[row])} ms"
        yield f"{label:>{_LABEL}} {''.join(cell * stretch for cell in cells)}".rstrip()


def _rows_of_line(found: Heatmap) -> list[int]:
    """Return the row that the line crosses in each column; -1 where there is none."""
    last = len(found.edges_ms) - 2
    return [
        -1 if ms is None else min(max(int(np.searchsorted(found.edges_ms, ms, "right")) - 1, 0), last)
        for ms in found.line_ms
    ]


def _under(found: Heatmap, marks: Sequence[MarkRow], sign: str) -> str:
    """Return the line below the picture that shows where marks are."""
    stretch, first = _stretch(found), found.asked.span.start
    cells = [" "] * (stretch * len(found.line_ms))
    for mark in marks:
        column = int((mark.time - first) / _step(found))
        if 0 <= column < len(found.line_ms):
            cells[column * stretch] = sign
    return f"{'':{_LABEL}} {''.join(cells)}"


def _axis(found: Heatmap) -> str:
    span, width = found.asked.span, _stretch(found) * len(found.line_ms)
    form = "%H:%M:%S" if span.length <= timedelta(hours=1) else "%H:%M"
    form = form if span.length <= timedelta(days=1) else "%m-%d %H:%M"
    left, middle, right = (f"{time:{form}}" for time in (span.start, span.start + span.length / 2, span.end))
    if width < len(left) + len(middle) + len(right) + 2:
        return f"{'':{_LABEL}} {left}{right:>{max(width - len(left), len(right) + 1)}}"
    half = f"{left}{middle:>{width // 2 + len(middle) // 2 - len(left)}}"
    return f"{'':{_LABEL}} {half}{right:>{width - len(half)}}"


def _legend(found: Heatmap, unicode: bool) -> str:
    shades, line = (_SHADES, _LINE) if unicode else (_PLAIN_SHADES, _PLAIN_LINE)
    most, off = int(found.counts.max()), found.bound.relative
    level = f"P{100 * found.asked.level:g} {f'within {digits(100 * off)} %' if off else 'exact'}"
    return f"{shades[1:]} 1 to {most:,} in a cell, by logarithm; {line * 2} {level}; labels are lower edges"
