"""What made the tail slower: both windows are fetched, and the calculation over them makes the report."""

from dataclasses import replace

from otel_attrib.analytics.analysis import WHY_SIDES, Naming, analyse
from otel_attrib.analytics.fetch import fetch_pair
from otel_attrib.analytics.matrix import MATRIX_METRICS, matrix_of
from otel_attrib.analytics.metric import metric_named
from otel_attrib.analytics.question import Question
from otel_attrib.analytics.report import Report
from otel_attrib.schema.store import Store

__all__ = ["explain", "with_matrix"]


def explain(store: Store, question: Question, exact: bool = False) -> Report:
    """Answer the question from what is stored; the same rows give the same report.

    Of a large window only what can matter is fetched; `exact` fetches every request.
    """
    windows = question.baseline, question.current
    baseline, current = fetch_pair(
        store, question.metric, windows, question.filters(), question.level, exact=exact
    )
    return analyse(
        baseline,
        current,
        metric=question.metric,
        level=question.level,
        notes=question.notes,
        where=question.where.as_dict(),
        sides=_sides(question),
    )


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
