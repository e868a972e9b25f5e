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
from otel_attrib.analytics.objectives.outcome import Outcome, outcome
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
    columns, parameters = _columns(objectives)
    cut, bound = _cut(edges)
    chosen = [_where(objective.where, f"o{i}") for i, objective in enumerate(objectives)]
    sql = statement(
        "objective_counts",
        cut=cut,
        columns=",\n    ".join(columns),
        where=" OR ".join(f"({c})" for c in chosen),
    )
    parameters |= bound | {"from_us": int(edges[0]), "to_us": int(edges[-1])}
    for i, objective in enumerate(objectives):
        parameters |= {f"o{i}_{name}": list(values) for name, values in objective.where.allowed}
    table = store.arrow(sql, parameters)
    return [_tally(table, i, objective, edges) for i, objective in enumerate(objectives)]


def _named(objective: Objective) -> dict[str, tuple[Any, ...]]:
    return {JOINT: objective.limits, **{limit.metric: (limit,) for limit in objective.limits}}


def _columns(objectives: Sequence[Objective]) -> tuple[list[str], dict[str, Any]]:
    columns: list[str] = []
    parameters: dict[str, Any] = {}
    for i, objective in enumerate(objectives):
        where = _where(objective.where, f"o{i}")
        for name, limits in _named(objective).items():
            found = outcome(limits, f"l{i}")
            columns += _sums(found, where, f"c{i}_{name}")
            parameters |= found.bound
    return columns, parameters


def _sums(found: Outcome, where: str, prefix: str) -> list[str]:
    kinds = {"good": found.good, "bad": found.bad, "unmeasured": found.unmeasured}
    sums = [
        f"sumIf(toUInt64(weight), ({where}) AND ({condition})) AS {prefix}_{kind}"
        for kind, condition in kinds.items()
    ]
    return [*sums, f"countIf(({where}) AND (({found.good}) OR ({found.bad}))) AS {prefix}_rows"]


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

    kinds = ("good", "bad", "unmeasured", "rows")
    counts = {name: Counts(*(column(f"c{i}_{name}_{kind}") for kind in kinds)) for name in _named(objective)}
    return Tally(edges, counts)
