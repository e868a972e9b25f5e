"""Which threshold is in force at a time: a function of the objective and the log of decisions alone.

It is `after_ms` of the last move at or before that time, and the objective's own limit where there is none.
Moves that were decided under another limit or another band hold no longer: who edits the objective starts
anew, and is told so.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from math import inf

from otel_attrib.analytics.objectives import Limit, Objective
from otel_attrib.schema.decisions import DecisionRow

__all__ = ["Effective", "banded", "effective"]


@dataclass(frozen=True, slots=True)
class Effective:
    """The threshold `ms` in force; `since` the end of the period after which it was moved, None: never.

    `void` counts the moves in the log that another limit or band, or a threshold that is none, has made void.
    """

    ms: float
    since: datetime | None = None
    void: int = 0


def effective(objective: Objective, limit: Limit, log: Iterable[DecisionRow], at: datetime) -> Effective:
    """Return the threshold of one latency of an objective at a time; `log` in any order."""
    baseline, buffer = banded(objective, limit)
    void = 0
    found = Effective(limit.ms)
    for row in sorted(log, key=lambda row: (row.time, row.decided)):
        mine = (row.objective, row.metric) == (objective.name, limit.metric)
        if not mine or row.time > at or row.word not in ("raise", "lower"):
            continue
        mine_then = (row.limit_ms, row.baseline_ms, row.buffer_ms) == (limit.ms, baseline, buffer)
        # Decisions come as log records too: one without a time that can be met is nobody's threshold.
        if not mine_then or not 0 < row.after_ms < inf:
            void += 1
        else:
            found = Effective(row.after_ms, row.time)
    return Effective(found.ms, found.since, void)


def banded(objective: Objective, limit: Limit) -> tuple[float | None, float | None]:
    """Return (baseline, buffer) as they bind this limit: a class promises one latency.

    That is TTFT where the objective limits it, else its first limit; the other limits have no band.
    """
    names = [each.metric for each in objective.limits]
    promised = "ttft" if "ttft" in names else names[0]
    if limit.metric != promised or objective.baseline_ms is None:
        return None, None
    return objective.baseline_ms, objective.buffer_ms or 0.0
