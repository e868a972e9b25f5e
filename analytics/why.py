"""What made the tail slower: two windows, their quantiles, and what stands in each tail.

First form: the change of the quantile with its interval, and the difference of the two tail
compositions. That difference adds up exactly and is not a cause: a longer prompt shows as `prefill`, a
slow link behind a full queue as `queue`.
"""

from dataclasses import dataclass

from otel_attrib.analytics.blocks import Counts, count_blocks
from otel_attrib.analytics.exemplars import pick_exemplars
from otel_attrib.analytics.filters import Filter
from otel_attrib.analytics.intervals import Estimate, difference
from otel_attrib.analytics.notes import changed_coverage, never_observed, note_all
from otel_attrib.analytics.question import Question
from otel_attrib.analytics.report import Report, Side
from otel_attrib.analytics.tail import Composition, Tail, fetch_tail
from otel_attrib.analytics.verdict import (
    INSUFFICIENT,
    Verdict,
    judge_change,
    judge_data,
    rows_above,
    threshold,
)
from otel_attrib.analytics.windows import Window, rfc3339
from otel_attrib.schema.store import Store

__all__ = ["explain"]

SUM_TOLERANCE_MS = 1e-6


@dataclass(frozen=True, slots=True)
class _Seen:
    """What was found in one window."""

    counts: Counts
    tail: Tail | None


def explain(store: Store, question: Question) -> Report:
    """Answer the question from what is stored; the same rows give the same report."""
    baseline, current = (_look(store, question, window) for window in (question.baseline, question.current))
    folded = changed_coverage(baseline.counts, current.counts)
    before, after = (_compose(seen, question.level, folded) for seen in (baseline, current))
    delta = difference(after.quantile, before.quantile) if before and after else None
    stages = _changes(before, after, folded + never_observed(baseline.counts, current.counts))
    verdict = _judge(question, baseline.counts, current.counts, before, delta)
    return Report(
        verdict=verdict,
        metric=question.metric,
        level=question.level,
        baseline=Side(question.baseline, baseline.counts.measured, before.quantile.value if before else None),
        current=Side(question.current, current.counts.measured, after.quantile.value if after else None),
        delta=delta,
        p_regression=(
            delta.probability_above(threshold(question.metric, before.quantile.value))
            if delta and before
            else None
        ),
        stages=stages,
        exemplars=pick_exemplars(current.tail, question.level, stages),
        checks=_checks(question.level, baseline.counts, current.counts, delta, stages),
        notes=question.notes + note_all(baseline.counts, current.counts, question.baseline, question.current),
        where=question.where.as_dict(),
        tail_accounting=stages,
    )


def _look(store: Store, question: Question, window: Window) -> _Seen:
    counts = count_blocks(store, question.metric, window, question.where)
    if not counts.measured:
        return _Seen(counts, None)
    tail = fetch_tail(store, question.metric, window, question.where, question.level, counts)
    return _Seen(counts, tail)


def _compose(seen: _Seen, level: float, folded: tuple[str, ...]) -> Composition | None:
    return seen.tail.fold(folded).composition(level) if seen.tail else None


def _changes(
    before: Composition | None, after: Composition | None, left_out: tuple[str, ...]
) -> dict[str, Estimate]:
    if before is None or after is None:
        return {}
    return {
        name: difference(after.stages[name], before.stages[name])
        for name in after.stages
        if name not in left_out
    }


def _judge(
    question: Question, baseline: Counts, current: Counts, before: Composition | None, delta: Estimate | None
) -> Verdict:
    for name, window, counts in (
        ("baseline", question.baseline, baseline),
        ("current window", question.current, current),
    ):
        if not counts.requests:
            return Verdict(INSUFFICIENT, _empty(name, window, question.where))
        refused = judge_data(name, counts, question.level)
        if refused:
            return refused
    if before is None or delta is None:
        return Verdict(INSUFFICIENT, "a window holds no request")
    return judge_change(question.metric, delta, before.quantile.value)


def _empty(name: str, window: Window, where: Filter) -> str:
    found = f"no request matches --where {where}" if where.allowed else "no request is stored"
    return f"{found} in the {name} ({rfc3339(window.start)}…{rfc3339(window.end)})"


def _checks(
    level: float, baseline: Counts, current: Counts, delta: Estimate | None, stages: dict[str, Estimate]
) -> dict[str, object]:
    error = abs(sum(change.value for change in stages.values()) - delta.value) if delta else 0.0
    if error > SUM_TOLERANCE_MS:
        raise AssertionError(f"stages miss the change by {error} ms")
    return {
        "sum_error_ms": round(error, 12),
        "telemetry_complete": round(min(baseline.complete, current.complete), 6),
        "n": {"baseline": baseline.measured, "current": current.measured},
        "rows_above": {
            "baseline": rows_above(baseline.measured, level),
            "current": rows_above(current.measured, level),
        },
        "blocks": {"baseline": int(baseline.sizes.size), "current": int(current.sizes.size)},
        "missing_stages": _missing(baseline, current),
    }


def _missing(baseline: Counts, current: Counts) -> dict[str, dict[str, float]]:
    """Return the share of the requests that lack each stage, where any does."""
    if not (baseline.measured and current.measured):
        return {}
    pairs = {stage: (share, current.missing[stage]) for stage, share in baseline.missing.items()}
    return {
        stage: {"baseline": round(old, 6), "current": round(new, 6)}
        for stage, (old, new) in pairs.items()
        if old or new
    }
