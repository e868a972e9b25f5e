"""`why`, as early as it can say something: at the quantile that is watched, or else at one with rows enough.

The first minute of an incident holds few requests above P99, and a cause needs 50 on each side. While the
watched quantile abstains, the highest quantile that has them is asked as well; when that one names what
happened, its report is taken and says so. As rows come in the answer moves up to the watched quantile by
itself.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

from otel_attrib.analytics.causes import TAIL_ROWS
from otel_attrib.analytics.question import Question
from otel_attrib.analytics.report import Report
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.verdict import (
    CAUSE,
    CAUSE_SET,
    GLOBAL,
    INSUFFICIENT,
    LOAD,
    MIX,
    OFFERED_LEVELS,
    rows_above,
)
from otel_attrib.analytics.why import explain
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.store import Store

__all__ = ["SAID", "explain_soon"]

SAID = (CAUSE, CAUSE_SET, MIX, LOAD)
"""The verdicts that name what happened."""

MOST_ROWS = 3 * TAIL_ROWS
EMPTY = 0.05  # share of a baseline that may lie before the first request: its blocks are slices of time
Explain = Callable[[Store, Question], Report]


def explain_soon(store: Store, question: Question, ask: Explain = explain) -> Report:
    """Return the answer at the question's quantile, or at a lower one that knows more."""
    question = replace(question, baseline=_filled(store, question))
    report = ask(store, question)
    if report.verdict.word not in (GLOBAL, INSUFFICIENT):
        return report
    for level in _levels(report, question.level):
        note = f"answered for P{100 * level:g}: too few requests are above P{100 * question.level:g} yet"
        other = ask(store, replace(question, level=level, notes=(*question.notes, note)))
        if other.verdict.word in SAID:
            return other
    return report


def _filled(store: Store, question: Question) -> Window:
    """Return the part of the baseline since its first request: a service that is new has no whole hour."""
    window = question.baseline
    where = question.where
    parameters = {**window.bounds_us(), **where.parameters()}
    (found,) = store.rows(statement("first_request", where=where.sql()), parameters)
    if not found["requests"]:
        return window
    empty = timedelta(microseconds=found["first_us"] - window.bounds_us()["from_us"])
    return replace(window, start=window.start + empty) if empty > EMPTY * window.length else window


def _levels(report: Report, asked: float) -> Iterator[float]:
    """Yield the highest quantile with rows enough on both sides, then that with three times as many."""
    n = min(report.baseline.n, report.current.n)
    for rows in (TAIL_ROWS, MOST_ROWS):
        level = next((each for each in OFFERED_LEVELS if rows_above(n, each) >= rows), asked)
        if level < asked:
            yield level
            asked = level
