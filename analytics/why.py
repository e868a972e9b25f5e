"""What made the tail slower: both windows are fetched, and the calculation over them makes the report."""

from collections.abc import Callable
from dataclasses import replace

import pyarrow.compute as pc

from otel_attrib.analytics.analysis import WHY_SIDES, Naming, analyse
from otel_attrib.analytics.fetch import fetch_pair
from otel_attrib.analytics.matrix import MATRIX_METRICS, matrix_of
from otel_attrib.analytics.metric import metric_named
from otel_attrib.analytics.period import Period
from otel_attrib.analytics.question import Question
from otel_attrib.analytics.report import Report
from otel_attrib.schema.store import Store

__all__ = ["CHOOSING", "STEPS", "explain", "with_matrix"]

CHOOSING, READING, DIVIDING = "choosing the windows", "reading requests and counters", "dividing the change"
STEPS = 3

OTHER_MACHINES = (
    "the two windows share no machine, and a machine's counters are held against its own past:"
    " layers rest on the stages alone"
)
OTHER_WAY = "otel-attrib why --where node=… for one of the machines, before and after it became slow"


Told = Callable[[str, int, int], None]
"""Hears of a step that begins, after how many of how many."""


def explain(
    store: Store, question: Question, exact: bool = False, told: Told = lambda step, done, of: None
) -> Report:
    """Answer the question from what is stored; the same rows give the same report.

    Of a large window only what can matter is fetched; `exact` fetches every request. `told` hears how far
    it is.
    """
    told(READING, 1, STEPS)
    windows = question.baseline, question.current
    baseline, current = fetch_pair(
        store, question.metric, windows, question.filters(), question.level, exact=exact
    )
    told(DIVIDING, 2, STEPS)
    report = analyse(
        baseline,
        current,
        metric=question.metric,
        level=question.level,
        notes=question.notes,
        where=question.where.as_dict(),
        sides=_sides(question),
    )
    return _on_other_machines(report) if _apart(baseline, current) else report


def _apart(baseline: Period, current: Period) -> bool:
    """Whether the two windows share no machine."""
    nodes = [set(pc.unique(period.requests["node"]).to_pylist()) for period in (baseline, current)]
    return bool(all(nodes) and not nodes[0] & nodes[1])


def _on_other_machines(report: Report) -> Report:
    """Say what then cannot be known: counters are held against the same machine's own past."""
    return replace(report, notes=(*report.notes, OTHER_MACHINES), deciding=(OTHER_WAY, *report.deciding))


def _sides(question: Question) -> tuple[Naming, Naming]:
    if not question.sides:
        return WHY_SIDES
    a, b = (Naming(name, name, selection.as_dict()) for name, selection in question.sides)
    return a, b


def with_matrix(store: Store, question: Question, report: Report, exact: bool = False) -> Report:
    """Return the report with the matrix of bottlenecks: the same question asked of TTFT, TPOT and TBT."""
    reports = {
        name: report
        if name == question.metric.name
        else explain(store, replace(question, metric=metric_named(name)), exact)
        for name in MATRIX_METRICS
    }
    return replace(report, matrix=matrix_of(reports))
