"""How near an objective is to its threshold, as one number for autoscalers: the quantile over the threshold.

1 is at the threshold. Of several latencies the nearest to its own counts. A quantile that too few requests
stand behind is given and marked, one without any request is no number: NotFound, so that an autoscaler keeps
the replicas that it has.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from otel_attrib.analytics.control.judged import thresholds_in_force
from otel_attrib.analytics.metric import metric_named
from otel_attrib.analytics.objectives import Limit, Objective
from otel_attrib.analytics.quantiles import STATE_SECONDS, Point, Sliding, slide
from otel_attrib.analytics.windows import Window, rfc3339
from otel_attrib.errors import NotFound, UsageError
from otel_attrib.schema.store import Store

__all__ = ["pressure_object"]


def pressure_object(
    store: Store, objective: Objective, now: datetime, window: timedelta, metric: str | None = None
) -> dict[str, Any]:
    """Return the number as KEDA's metrics-api scaler reads it (`value`), with what it is made of.

    The window is the last whole one of 10 s states before `now`.
    """
    force = thresholds_in_force(store, [objective], now)
    parts = [
        _part(limit, point, force[objective.name, limit.metric].ms)
        for limit in _limits(objective, metric)
        if (point := _point(store, objective, limit, now, window)) is not None
    ]
    if not parts:
        raise NotFound(
            f"{objective.name}: no request of the last {window.total_seconds():g} s was measured: no number"
        )
    worst = max(parts, key=lambda part: float(part["value"]))
    return {
        "schema": "otel-attrib/pressure/1",
        "value": worst["value"],
        "objective": objective.name,
        "quantile": objective.target,
        "window_s": int(window.total_seconds()),
        "time": rfc3339(now),
        "limits": parts,
    }


def _limits(objective: Objective, metric: str | None) -> Sequence[Limit]:
    if metric is None:
        return objective.limits
    found = [limit for limit in objective.limits if limit.metric == metric]
    if not found:
        names = ", ".join(limit.metric for limit in objective.limits)
        raise UsageError(f"objective {objective.name} limits {names}, not {metric}")
    return found


def _point(
    store: Store, objective: Objective, limit: Limit, now: datetime, window: timedelta
) -> Point | None:
    step = timedelta(seconds=STATE_SECONDS)
    asked = Sliding(
        metric_named(limit.metric),
        objective.target,
        int(window.total_seconds()),
        STATE_SECONDS,
        Window(now - step, now),
        (),
        objective.where,
        exact=not objective.where.rolled_up,
    )
    points = [point for point in slide(store, asked) if point.ms is not None]
    return points[-1] if points else None


def _part(limit: Limit, point: Point, threshold_ms: float) -> dict[str, Any]:
    assert point.ms is not None
    return {
        "metric": limit.metric,
        "value": point.ms / threshold_ms,
        "ms": point.ms,
        "threshold_ms": threshold_ms,
        "n": point.n,
        "few": point.few,
    }
