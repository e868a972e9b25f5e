"""One round of the threshold loop over a store: a decision for each latency of each objective.

A round looks and decides; what becomes of its decisions is the caller's: `row_of` makes the row that keeps
one. A period that is in the log already is not decided again, so a round may run as often as one likes.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from otel_attrib.analytics.control.band import Band
from otel_attrib.analytics.control.decide import decide
from otel_attrib.analytics.control.decision import Decision
from otel_attrib.analytics.control.effective import Effective, banded, effective
from otel_attrib.analytics.control.observe import LAG_S, last_end, look
from otel_attrib.analytics.control.rule import ThresholdRule
from otel_attrib.analytics.metric import metric_named
from otel_attrib.analytics.objectives import Limit, Objective
from otel_attrib.analytics.windows import rfc3339
from otel_attrib.schema.decisions import DecisionRow, decision_moves, decision_rows
from otel_attrib.schema.store import Store

__all__ = ["Judged", "judge", "judged_object", "logged_object", "row_of", "thresholds_in_force"]


@dataclass(frozen=True, slots=True)
class Judged:
    """A decision about one latency of one objective at a period's end; `kept`: it is in the log already."""

    objective: Objective
    limit: Limit
    level: float
    end: datetime
    force: Effective
    decision: Decision
    kept: bool = False


def thresholds_in_force(
    store: Store, objectives: Sequence[Objective], at: datetime
) -> dict[tuple[str, str], Effective]:
    """Return the threshold in force at a time by (objective, latency)."""
    log = decision_moves(store, at, tuple(objective.name for objective in objectives))
    return {
        (objective.name, limit.metric): effective(objective, limit, log, at)
        for objective in objectives
        for limit in objective.limits
    }


def judge(
    store: Store, objectives: Sequence[Objective], rule: ThresholdRule, now: datetime, lag_s: int = LAG_S
) -> list[Judged]:
    """Decide about every latency of every objective at the end of the newest period before `now`.

    The quantile of an objective is its target: 99 % of requests under a limit is P99 at it.
    """
    end = last_end(rule, now, lag_s)
    # A period that is in the log is judged again as it was then, before what it moved.
    force = thresholds_in_force(store, objectives, end - timedelta(microseconds=1))
    names = tuple(objective.name for objective in objectives)
    newest = decision_rows(store, end - timedelta(seconds=rule.period_s), end, names) if names else []
    there = {(row.objective, row.metric) for row in newest if row.time == end}
    return [
        _judged(store, objective, limit, rule, end, force[objective.name, limit.metric], there)
        for objective in objectives
        for limit in objective.limits
    ]


def _judged(
    store: Store,
    objective: Objective,
    limit: Limit,
    rule: ThresholdRule,
    end: datetime,
    force: Effective,
    there: set[tuple[str, str]],
) -> Judged:
    seen = look(store, rule, limit.metric, objective.target, objective.where, end)
    baseline, buffer = banded(objective, limit)
    decision = decide(
        rule,
        Band(baseline, buffer or 0.0),
        objective.target,
        force.ms,
        seen.periods,
        seen.day,
        force.since,
        metric_named(limit.metric).title,
    )
    kept = (objective.name, limit.metric) in there
    return Judged(objective, limit, objective.target, end, force, decision, kept)


def row_of(judged: Judged, rule: ThresholdRule, decided: datetime | None = None) -> DecisionRow:
    """Return the row that keeps a decision."""
    decision = judged.decision
    baseline, buffer = banded(judged.objective, judged.limit)
    return DecisionRow(
        time=judged.end,
        decided=decided or datetime.now(UTC),
        objective=judged.objective.name,
        metric=judged.limit.metric,
        quantile=judged.level,
        word=decision.word,
        limit_ms=judged.limit.ms,
        before_ms=decision.before_ms,
        after_ms=decision.after_ms,
        candidate_ms=decision.candidate_ms,
        day_ms=None if decision.day is None else decision.day.ms,
        baseline_ms=baseline,
        buffer_ms=buffer,
        periods_ms=tuple(p.ms for p in decision.periods),
        periods_n=tuple(p.n for p in decision.periods),
        rule=json.dumps(asdict(rule), sort_keys=True),
        sentence=decision.sentence,
    )


def judged_object(
    found: Iterable[Judged], rule: ThresholdRule, applied: bool, log: Iterable[DecisionRow] = ()
) -> dict[str, Any]:
    """Return a round for `--json` and the API; `log` are earlier decisions to show beside it."""
    return {
        "schema": "otel-attrib/thresholds/1",
        "rule": asdict(rule),
        "applied": applied,
        "items": [_item(each) for each in found],
        "log": [logged_object(row) for row in log],
    }


def _item(judged: Judged) -> dict[str, Any]:
    decision, (baseline, buffer) = judged.decision, banded(judged.objective, judged.limit)
    return {
        "objective": judged.objective.name,
        "class": judged.objective.sla_class,
        "metric": judged.limit.metric,
        "quantile": judged.level,
        "where": judged.objective.where.as_dict(),
        "limit_ms": judged.limit.ms,
        "baseline_ms": baseline,
        "buffer_ms": buffer,
        "threshold_ms": judged.force.ms,
        "since": None if judged.force.since is None else rfc3339(judged.force.since),
        "void": judged.force.void,
        "end": rfc3339(judged.end),
        "decision": decision.word,
        "recommended_ms": decision.after_ms,
        "candidate_ms": decision.candidate_ms,
        "day_ms": None if decision.day is None else decision.day.ms,
        "periods": [{"end": rfc3339(p.end), "n": p.n, "ms": p.ms} for p in decision.periods],
        "sentence": decision.sentence,
        "kept": judged.kept,
    }


def logged_object(row: DecisionRow) -> dict[str, Any]:
    """Return a kept decision for `--json` and the API."""
    return {
        "time": rfc3339(row.time),
        "decided": rfc3339(row.decided),
        "objective": row.objective,
        "metric": row.metric,
        "decision": row.word,
        "before_ms": row.before_ms,
        "after_ms": row.after_ms,
        "candidate_ms": row.candidate_ms,
        "day_ms": row.day_ms,
        "sentence": row.sentence,
    }
