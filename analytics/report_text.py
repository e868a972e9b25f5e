"""A report for people: the answer in the first line, then what it rests on, in 80 columns."""

import textwrap
from collections.abc import Iterator

from otel_attrib.analytics.intervals import Estimate
from otel_attrib.analytics.metric import OUTSIDE
from otel_attrib.analytics.report import STAGES_ARE, Report, Side
from otel_attrib.analytics.verdict import GLOBAL, INSUFFICIENT, RULE
from otel_attrib.analytics.windows import Window

__all__ = ["milliseconds", "render"]

COLUMNS = 80
NAMED = 3  # stages named in the first line
WORTH_NAMING = 0.02  # share of the change below which a stage is not named there


def render(report: Report) -> str:
    """Return the whole text."""
    sections = (_answer, _windows, _stages, _exemplars, _notes, _definition)
    return "\n\n".join("\n".join(lines) for section in sections if (lines := list(section(report)))) + "\n"


def milliseconds(value: float, sign: bool = False) -> str:
    """Write a time with three digits that matter."""
    size = abs(value)
    decimals = 0 if size >= 100 else 1 if size >= 10 else 2
    shown = 0.0 if round(value, decimals) == 0 else value  # never -0.00
    return f"{shown:{'+' if sign else ''}.{decimals}f}"


def _answer(report: Report) -> Iterator[str]:
    yield from textwrap.wrap(_headline(report), COLUMNS)
    yield from textwrap.wrap(f"{report.verdict.word}: {report.verdict.reason}.", COLUMNS)


def _headline(report: Report) -> str:
    name = f"P{100 * report.level:g} {report.metric.title}"
    before, after, delta = report.baseline.ms, report.current.ms, report.delta
    if before is None or after is None or delta is None:
        return f"{name} cannot be judged."
    fell = delta.freedom >= 1 and delta.interval()[1] < 0
    calm = "fell" if fell else "shows no regression:"
    verb = {GLOBAL: "rose", INSUFFICIENT: "cannot be judged:"}.get(report.verdict.word, calm)
    change = f"{milliseconds(before)} → {milliseconds(after)} ms ({_change(delta)})"
    named = _named(report, delta) if report.verdict.word == GLOBAL else ""
    return f"{name} {verb} {change}{named}"


def _change(delta: Estimate) -> str:
    return f"{milliseconds(delta.value, sign=True)} ms, 95 % CI {_interval(delta)}"


def _interval(estimate: Estimate) -> str:
    low, high = estimate.interval()
    return "unknown" if estimate.freedom < 1 else f"{milliseconds(low)}…{milliseconds(high)}"


def _named(report: Report, delta: Estimate) -> str:
    grown = sorted(report.stages.items(), key=lambda item: -item[1].value)
    worth = [
        f"{stage} {milliseconds(change.value, sign=True)} ms"
        for stage, change in grown[:NAMED]
        if change.value > WORTH_NAMING * delta.value
    ]
    return f"; in the tail: {', '.join(worth)}" if worth else ""


def _windows(report: Report) -> Iterator[str]:
    for name, side in (("baseline", report.baseline), ("current", report.current)):
        yield f"  {name:8}  {_side(side, report)}"
    if report.where:
        yield f"  where     {' '.join(f'{key}={value}' for key, value in report.where.items())}"


def _side(side: Side, report: Report) -> str:
    what = "gaps" if report.metric.name == "tbt" else "requests"
    value = "" if side.ms is None else f"  {milliseconds(side.ms)} ms"
    return f"{_span(side.window)}  {side.n} {what}{value}"


def _span(window: Window) -> str:
    end = "%H:%M:%S" if window.start.date() == window.end.date() else "%Y-%m-%d %H:%M:%S"
    return f"{window.start:%Y-%m-%d %H:%M:%S}…{window.end:{end}} UTC"


def _stages(report: Report) -> Iterator[str]:
    if not report.by_size or report.delta is None:
        return
    yield f"Change of {STAGES_ARE}"
    yield f"  {'stage':18}{'ms':>10}  {'95 % CI':>18}"
    outside = [(OUTSIDE, report.stages[OUTSIDE])]
    for name, change in report.by_size + outside:
        yield f"  {name:18}{milliseconds(change.value, sign=True):>10}  {_interval(change):>18}"
    yield f"  {'sum':18}{milliseconds(report.delta.value, sign=True):>10}  {_interval(report.delta):>18}"


def _exemplars(report: Report) -> Iterator[str]:
    if report.exemplars:
        yield "Requests to look at (otel-attrib trace ID)"
    for exemplar in report.exemplars:
        largest = f", of it {exemplar.stage} {milliseconds(exemplar.stage_ms)}" if report.metric.parts else ""
        yield f"  {exemplar.trace_id}  {milliseconds(exemplar.ms)} ms{largest}"


def _notes(report: Report) -> Iterator[str]:
    if report.notes:
        yield "What speaks against, or is to be known"
    for note in report.notes:
        yield from textwrap.wrap(note, COLUMNS, initial_indent="  - ", subsequent_indent="    ")


def _definition(report: Report) -> Iterator[str]:
    yield from textwrap.wrap(f"{report.metric.title}: {report.metric.definition}.", COLUMNS)
    yield from textwrap.wrap(RULE, COLUMNS)
