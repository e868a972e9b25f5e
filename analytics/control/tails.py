"""Every tenant's tail of the last minute, round by round, against the threshold that it is held to.

Requests that arrived in the minute and have ended are seen, exactly, from their rows: what still runs is not
in it, so a tenant whose requests hang is seen late. Tenants are those that asked for anything in the last
day.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from otel_attrib.analytics.control.effective import Effective
from otel_attrib.analytics.control.factors import Tail
from otel_attrib.analytics.filters import Filter
from otel_attrib.analytics.metric import metric_named
from otel_attrib.analytics.objectives import Objective
from otel_attrib.analytics.quantiles import Point, Sliding, slide
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.windows import Window
from otel_attrib.errors import UsageError
from otel_attrib.schema.store import Store

__all__ = ["ROUND_S", "WINDOW_S", "Asked", "rounds_of", "usage"]

ROUND_S = 5
WINDOW_S = 60
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Asked:
    """Which latency at which quantile; `rounds` of `ROUND_S` seconds end at `end`."""

    metric: str = "ttft"
    level: float = 0.95
    rounds: int = 1


def rounds_of(
    store: Store,
    objectives: Sequence[Objective],
    force: Mapping[tuple[str, str], Effective],
    asked: Asked,
    now: datetime,
) -> list[tuple[datetime, list[Tail]]]:
    """Return each round's end with the tails of every tenant, one for each objective that limits the latency.

    `force` holds the thresholds in force by (objective, latency).
    """
    end = datetime.fromtimestamp(int(now.timestamp()) // ROUND_S * ROUND_S, UTC)
    ends = [end - timedelta(seconds=ROUND_S * k) for k in reversed(range(asked.rounds))]
    found: dict[datetime, list[Tail]] = {at: [] for at in ends}
    held = [one for one in objectives if any(limit.metric == asked.metric for limit in one.limits)]
    if objectives and not held:
        raise UsageError(
            f"no objective limits {metric_named(asked.metric).title}: nothing to hold a tenant to"
        )
    for objective in held:
        points = _points(store, objective, asked, Window(ends[0] - timedelta(seconds=ROUND_S), end))
        names = _named(objective) | {point.group[0] for point in points}
        names |= set(usage(store, objective.where, end)) if objective.where.rolled_up else set()
        threshold = force[objective.name, asked.metric].ms
        by_place = {(point.end, point.group[0]): point for point in points}
        for at in ends:
            found[at] += [
                _tail(by_place.get((at, name)), name, threshold, objective.name) for name in sorted(names)
            ]
    return [(at, found[at]) for at in ends]


def usage(store: Store, where: Filter, end: datetime, length: timedelta = DAY) -> dict[str, float]:
    """Return the tokens, prompt and output, of every tenant in the `length` before `end`."""
    sql = statement("control_tenants", where=where.sql())
    bound = {"first": int((end - length).timestamp()), "last": int(end.timestamp()), **where.parameters()}
    return {str(row["tenant"]): float(row["tokens"]) for row in store.rows(sql, bound)}


def _points(store: Store, objective: Objective, asked: Asked, span: Window) -> list[Point]:
    metric = metric_named(asked.metric)
    by = ("tenant",)
    return slide(
        store, Sliding(metric, asked.level, WINDOW_S, ROUND_S, span, by, objective.where, exact=True)
    )


def _tail(point: Point | None, tenant: str, threshold: float, objective: str) -> Tail:
    if point is None:
        return Tail(tenant, 0, None, threshold, objective)
    return Tail(tenant, point.n, point.ms, threshold, objective)


def _named(objective: Objective) -> set[str]:
    return set(dict(objective.where.allowed).get("tenant", ()))
