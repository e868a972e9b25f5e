"""How many requests were good and bad, for several objectives and stretches of time in one pass.

A request counts as many times as it stands for (`weight`: sampling keeps some requests for all), by when it
arrived. Counts are exact: rows are read, nothing is interpolated.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.filters import Filter
from otel_attrib.analytics.objectives.objective import Objective
from otel_attrib.analytics.objectives.outcome import BAD, GOOD, UNMEASURED, outcome
from otel_attrib.analytics.statement import statement
from otel_attrib.schema.store import Store

__all__ = ["JOINT", "Counts", "Tally", "tally"]

Ints = NDArray[np.int64]
JOINT = "joint"
"""The name under which counts stand for all limits at once; those of one limit stand under its latency."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Requests in each stretch, (n,) each; `rows` are stored requests that were judged, without weights."""

    good: Ints
    bad: Ints
    unmeasured: Ints
    rows: Ints

    @property
    def total(self) -> Ints:
        """Return how many are known to be good or bad."""
        return self.good + self.bad

    def cut(self, first: int, last: int) -> "Counts":
        """Return the stretches [first, last)."""
        part = slice(first, last)
        return Counts(self.good[part], self.bad[part], self.unmeasured[part], self.rows[part])


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of one objective by name: `joint`, and each limit's latency."""

    edges_us: Ints
    counts: dict[str, Counts]

    @property
    def size(self) -> int:
        """Return how many stretches there are."""
        return self.edges_us.size - 1

    def cut(self, first: int, last: int) -> "Tally":
        """Return the stretches [first, last)."""
        counts = {name: each.cut(first, last) for name, each in self.counts.items()}
        return Tally(self.edges_us[first : last + 1], counts)


def tally(store: Store, objectives: Sequence[Objective], edges_us: Sequence[int] | Ints) -> list[Tally]:
    """Count the requests that arrived in [edge i, edge i + 1), edges ascending in µs since 1970."""
    edges = np.array(edges_us, dtype=np.int64)
    if not objectives:
        return []
    cut, bound = _cut(edges)
    wheres = [_where(objective.where, f"o{i}") for i, objective in enumerate(objectives)]
    codes = [
        _codes(objective, i, where)
        for i, (objective, where) in enumerate(zip(objectives, wheres, strict=True))
    ]
    sql = statement(
        "objective_counts",
        cut=cut,
        codes=",\n        ".join(f"{code} AS {name}" for each in codes for name, code in each.items()),
        sums=",\n    ".join(_sums(name) for each in codes for name in each),
        where=" OR ".join(f"({where})" for where in dict.fromkeys(wheres)),
    )
    parameters = bound | {"from_us": int(edges[0]), "to_us": int(edges[-1])}
    for i, objective in enumerate(objectives):
        parameters |= {f"o{i}_{name}": list(values) for name, values in objective.where.allowed}
        parameters |= {f"l{i}_{limit.metric}": 1000 * limit.ms for limit in objective.limits}
    table = store.arrow(sql, parameters)
    return [_tally(table, i, objective, edges) for i, objective in enumerate(objectives)]


def _codes(objective: Objective, i: int, where: str) -> dict[str, str]:
    """Return SQL for what became of a row, by the name of its column: each limit, and all at once."""
    each = {
        f"c{i}_{limit.metric}": outcome(limit.metric, f"l{i}_{limit.metric}", where)
        for limit in objective.limits
    }
    return each | ({f"c{i}_{JOINT}": f"greatest({', '.join(each)})"} if len(each) > 1 else {})


def _sums(name: str) -> str:
    kinds = {"good": GOOD, "bad": BAD, "unmeasured": UNMEASURED}
    sums = [f"sumIf(weight, {name} = {code}) AS {name}_{kind}" for kind, code in kinds.items()]
    return ", ".join([*sums, f"countIf({name} IN ({GOOD}, {BAD})) AS {name}_rows"])


def _where(where: Filter, prefix: str) -> str:
    return " AND ".join(f"{name} IN {{{prefix}_{name}:Array(String)}}" for name, _ in where.allowed) or "1"


def _cut(edges: Ints) -> tuple[str, dict[str, Any]]:
    """Return SQL for the number of the stretch that a row's time lies in."""
    time = "toUnixTimestamp64Micro(time)"
    steps = np.diff(edges)
    if steps.size > 1 and (steps == steps[0]).all():
        return f"intDiv({time} - {{from_us:Int64}}, {{step_us:Int64}})", {"step_us": int(steps[0])}
    if steps.size == 1:
        return "toInt64(0)", {}
    cases = ", ".join(f"{time} < {{edge{i}:Int64}}, {i - 1}" for i in range(1, edges.size - 1))
    bound = {f"edge{i}": int(edges[i]) for i in range(1, edges.size - 1)}
    return f"toInt64(multiIf({cases}, {edges.size - 2}))", bound


def _tally(table: Any, i: int, objective: Objective, edges: Ints) -> Tally:
    at = table["stretch"].to_numpy()

    def column(name: str) -> Ints:
        whole = np.zeros(edges.size - 1, dtype=np.int64)
        whole[at] = table[name].to_numpy()
        return whole

    def counts(name: str) -> Counts:
        kinds = ("good", "bad", "unmeasured", "rows")
        return Counts(*(column(f"c{i}_{name}_{kind}") for kind in kinds))

    found = {limit.metric: counts(limit.metric) for limit in objective.limits}
    joint = counts(JOINT) if len(found) > 1 else next(iter(found.values()))
    return Tally(edges, {JOINT: joint, **found})
