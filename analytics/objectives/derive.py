"""What could be promised: the P95 of each endpoint by hour and day, read from the rows.

P95 is the value at rank floor(0.95·(n−1))+1, told from logarithmic bins of 1 %: within 0.5 % of it. Requests
count by their weight. A latency that was not measured is in none; neither is a failed request without one.
"""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from math import exp, floor, log

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from otel_attrib.analytics.filters import Filter
from otel_attrib.analytics.metric import Metric
from otel_attrib.analytics.objectives.endpoint import LEVEL, NEAR, Cell, Derived, Endpoint, Promised
from otel_attrib.analytics.objectives.objective import Objective
from otel_attrib.analytics.question import end_of
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.windows import Window, parse_duration
from otel_attrib.errors import UsageError
from otel_attrib.schema.store import Store

__all__ = ["DERIVED_LAST", "RATIO", "derive", "derived_span"]

RATIO = 1.01
"""Upper edge of a bin over its lower one; a value is told by the middle of its bin, off by 0.5 % at most."""

DERIVED_LAST = "14d"
EPOCH = date(1970, 1, 1)
NAMES = ("service", "model", "operation")
Ints = NDArray[np.int64]
Part = Mapping[str, Ints]


def derived_span(store: Store, last: str, where: Filter, at: str) -> Window:
    """Return the span that ends at a time and begins with a whole day."""
    length = parse_duration(last)
    if not timedelta(days=1) <= length <= timedelta(days=92):
        raise UsageError(f"--last {last}: limits are derived from 1 day to 92 days, such as 14d")
    end = end_of(store, at, where)
    return Window((end - length).replace(hour=0, minute=0, second=0, microsecond=0), end)


def derive(
    store: Store, metric: Metric, span: Window, where: Filter, objectives: Sequence[Objective] = ()
) -> Derived:
    """Read the latencies of a span; `objectives` are held against what was measured."""
    parameters = {**where.parameters(), **span.bounds_us(), "scale": 1 / log(RATIO)}
    sql = statement("derive_bins", value=metric.value, values=metric.values, where=where.sql())
    table = store.arrow(sql, parameters)
    about = [each for each in objectives if _of_these(each, where)]
    endpoints = (_endpoint(table, first, last, metric, span, about) for first, last in _groups(table))
    return Derived(metric, span, tuple(endpoints))


def _groups(table: pa.Table) -> list[tuple[int, int]]:
    """Return the rows [first, last) of each endpoint; rows are in order."""
    if not table.num_rows:
        return []
    changes = np.zeros(table.num_rows - 1, dtype=bool)
    for name in NAMES:
        codes = table[name].combine_chunks().dictionary_encode().indices.to_numpy()
        changes |= codes[1:] != codes[:-1]
    edges = [0, *(np.flatnonzero(changes) + 1).tolist(), table.num_rows]
    return list(zip(edges[:-1], edges[1:], strict=True))


def _endpoint(
    table: pa.Table, first: int, last: int, metric: Metric, span: Window, about: Sequence[Objective]
) -> Endpoint:
    part = {
        name: table[name].slice(first, last - first).to_numpy().astype(np.int64)
        for name in ("day", "hour", "bin", "n", "held")
    }
    values = {name: str(table[name][first].as_py()) for name in NAMES}
    hours = tuple(Cell(*cell) for cell in _cells("hour", part))
    days = tuple(Cell(EPOCH + timedelta(days=at), n, rows, ms) for at, n, rows, ms in _cells("day", part))
    promised = tuple(
        Promised(objective.name, limit.ms, _days_near(days, limit.ms, span.end.date()))
        for objective in about
        for limit in objective.limits
        if limit.metric == metric.name and _fits(objective.where, values)
    )
    return Endpoint(**values, n=int(part["n"].sum()), hours=hours, days=days, promised=promised)


def _cells(name: str, part: Part) -> list[tuple[int, int, int, float]]:
    """Return for each hour (or day) that occurs: which, requests, rows, and P95 in ms."""
    return [
        (
            at,
            int(part["n"][mine].sum()),
            int(part["held"][mine].sum()),
            _p95(part["bin"][mine], part["n"][mine]),
        )
        for at, mine in _each(part[name])
    ]


def _each(column: Ints) -> list[tuple[int, NDArray[np.bool_]]]:
    return [(int(at), column == at) for at in np.unique(column)]


def _p95(bins: Ints, counts: Ints) -> float:
    """Return the middle of the bin that holds the value at rank floor(q·(n−1))+1."""
    order = np.argsort(bins, kind="stable")
    until = np.cumsum(counts[order])
    rank = floor(LEVEL * (int(until[-1]) - 1)) + 1
    held = int(bins[order][int(np.searchsorted(until, rank))])
    # Bin b holds (RATIO^(b−1), RATIO^b] µs; this point is equally far from both ends, relative to each.
    return exp((held - 1) * log(RATIO)) * 2 * RATIO / (1 + RATIO) / 1000


def _of_these(objective: Objective, where: Filter) -> bool:
    """Return whether an objective is about the requests asked for, endpoints apart."""
    asked = dict(where.allowed)
    return all(
        set(asked.get(name, ("",))) <= set(allowed)
        for name, allowed in objective.where.allowed
        if name not in NAMES
    )


def _fits(where: Filter, values: Mapping[str, str]) -> bool:
    return all(values[name] in allowed for name, allowed in where.allowed if name in NAMES)


def _days_near(days: Sequence[Cell], sla_ms: float, today: date) -> int:
    """Return for how many whole days running, up to yesterday, P95 was above 0.9 × the limit."""
    by_day = {cell.at: cell for cell in days if not cell.few}
    running = 0
    while (cell := by_day.get(today - timedelta(days=running + 1))) and cell.p95_ms > NEAR * sla_ms:
        running += 1
    return running
