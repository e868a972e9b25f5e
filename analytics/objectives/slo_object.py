"""Standings as JSON: the body of `otel-attrib slo --json` and of /api/v1/slo."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from otel_attrib.analytics.objectives.attained import Share
from otel_attrib.analytics.objectives.burn import BurnPair
from otel_attrib.analytics.objectives.objective import Objective
from otel_attrib.analytics.objectives.standing import Firing, Standing, budgeted
from otel_attrib.analytics.objectives.tally import JOINT, Counts, Tally
from otel_attrib.analytics.windows import rfc3339

__all__ = ["SCHEMA", "HistoryPoint", "history_points", "objective_object", "slo_object", "standing_object"]

SCHEMA = "otel-attrib/slo/1"
POINTS = 120

HistoryPoint = dict[str, Any]


def slo_object(standings: Sequence[Standing]) -> dict[str, Any]:
    """Return all standings in the order of their objectives."""
    return {"schema": SCHEMA, "items": [standing_object(each) for each in standings]}


def objective_object(objective: Objective) -> dict[str, Any]:
    """Return what an objective asks for; times are seconds or ms, as the name says."""
    slices = objective.slices
    return {
        "name": objective.name,
        "title": objective.title,
        "description": objective.description,
        "service": objective.service,
        "class": objective.sla_class,
        "where": objective.where.as_dict(),
        "limits": [{"metric": limit.metric, "ms": limit.ms} for limit in objective.limits],
        "joint": objective.joint,
        "target": objective.target,
        "window_s": _seconds(objective.window),
        "baseline_ms": objective.baseline_ms,
        "buffer_ms": objective.buffer_ms,
        "actions": list(objective.actions),
        "unit": "requests" if slices is None else "slices",
        "slice_s": None if slices is None else _seconds(slices.length),
        "slice_target": None if slices is None else slices.target,
    }


def standing_object(standing: Standing) -> dict[str, Any]:
    """Return one objective with where it stands; shares that nothing was judged for are null."""
    whole = standing.attained.whole
    return {
        **objective_object(standing.objective),
        "end": rfc3339(standing.end),
        "state": standing.state,
        "attained": whole.value,
        **_share(whole),
        "needed": standing.needed,
        "few": standing.few,
        "budget_left": standing.budget_left,
        "burn": [{"window_s": _seconds(window), "rate": rate} for window, rate in standing.burn],
        "marginal": {name: share.value for name, share in standing.attained.marginal.items()},
        "marginal_counts": {name: _share(share) for name, share in standing.attained.marginal.items()},
        "alerts": [_firing(each) for each in standing.pairs],
    }


def _share(share: Share) -> dict[str, Any]:
    interval, reach = share.interval(), share.reach()
    return {
        "good": share.good,
        "total": share.total,
        "unmeasured": share.unmeasured,
        "rows": share.rows,
        "interval": None if interval is None else list(interval),
        "reach": None if reach is None else list(reach),
    }


def _firing(firing: Firing) -> dict[str, Any]:
    return {
        **_pair(firing.pair),
        "limit": firing.limit,
        "long_rate": firing.long_rate,
        "short_rate": firing.short_rate,
        "firing": firing.firing,
    }


def _pair(pair: BurnPair) -> dict[str, Any]:
    return {
        "severity": pair.severity,
        "factor": pair.factor,
        "budget_share": pair.share,
        "long_s": _seconds(pair.long),
        "short_s": _seconds(pair.short),
    }


def history_points(objective: Objective, minutes: Tally, points: int = POINTS) -> list[HistoryPoint]:
    """Return what was good in each stretch of the window, at most `points` of them, the newest last.

    Without `joint` they are of the limit that stands worst over the window.
    """
    found, step = budgeted(objective, minutes)
    steps = min(found.edges_us.size - 1, objective.window // step)
    width = max(1, -(-steps // points))
    counts = found.counts[_told(objective, found)]
    edges = range(found.edges_us.size - 1 - steps // width * width, found.edges_us.size, width)
    return [_point(found, counts, first, last) for first, last in zip(edges[:-1], edges[1:], strict=True)]


def _told(objective: Objective, found: Tally) -> str:
    if objective.joint:
        return JOINT
    names = [limit.metric for limit in objective.limits]
    return max(names, key=lambda name: _bad_share(found.counts[name]))


def _bad_share(counts: Counts) -> float:
    return float(counts.bad.sum()) / max(1, int(counts.total.sum()))


def _point(found: Tally, counts: Counts, first: int, last: int) -> HistoryPoint:
    time = datetime.fromtimestamp(int(found.edges_us[first]) / 1e6, UTC)
    return {
        "time": rfc3339(time),
        "good": int(counts.good[first:last].sum()),
        "total": int(counts.total[first:last].sum()),
    }


def _seconds(length: timedelta) -> int:
    return round(length.total_seconds())
