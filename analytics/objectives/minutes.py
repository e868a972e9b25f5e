"""Counts minute by minute, the step that budgets are counted in, and slices of several minutes made of them.

A minute is one of the clock in UTC. The running minute is left out: a request is stored when it has ended, so
of those that arrived just now only the quick ones are known, and they would make any objective look better.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np

from otel_attrib.analytics.objectives.objective import Objective, Timeslices
from otel_attrib.analytics.objectives.tally import Counts, Ints, Tally, tally
from otel_attrib.analytics.statement import statement
from otel_attrib.schema.store import Store

__all__ = ["MINUTE_US", "count_minutes", "in_slices", "joined", "last_minute", "latest"]

MINUTE_US = 60_000_000
ROWS_AT_ONCE = 10_000_000
"""Requests of one statement where time and rows of a statement are limited; an hour is never divided."""


def last_minute(end: datetime, whole: bool = False) -> int:
    """Return the minute since 1970 that counts end before; `whole` takes in the one that `end` lies in."""
    seconds = end.timestamp()
    return int(-(-seconds // 60)) if whole else int(seconds // 60)


def count_minutes(
    store: Store, objectives: Sequence[Objective], first: int, last: int, pieces: bool = False
) -> list[Tally]:
    """Count the minutes [first, last), in one statement, or in `pieces` of few enough requests each."""
    edges = _pieces(store, first, last) if pieces else [first, last]
    parts = [
        tally(store, objectives, np.arange(start, end + 1, dtype=np.int64) * MINUTE_US)
        for start, end in zip(edges[:-1], edges[1:], strict=True)
    ]
    return [joined([part[i] for part in parts]) for i in range(len(objectives))]


def _pieces(store: Store, first: int, last: int) -> list[int]:
    """Return the minutes at which to divide [first, last), whole hours between them."""
    edges, held = [first], 0
    for row in store.rows(statement("requests_by_hour"), {"first": first * 60, "last": last * 60}):
        start, n = 60 * int(row["hour"]), int(row["n"])
        if held and held + n > ROWS_AT_ONCE and start > edges[-1]:
            edges.append(start)
            held = 0
        held += n
    return [*edges, last]


def joined(parts: Sequence[Tally]) -> Tally:
    """Return tallies that follow one another as one."""
    if len(parts) == 1:
        return parts[0]
    edges = np.concatenate([parts[0].edges_us[:1], *(part.edges_us[1:] for part in parts)])
    return Tally(
        edges, {name: _end_to_end([part.counts[name] for part in parts]) for name in parts[0].counts}
    )


def _end_to_end(parts: Sequence[Counts]) -> Counts:
    good, bad, unmeasured, rows = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("good", "bad", "unmeasured", "rows")
    )
    return Counts(good, bad, unmeasured, rows)


def latest(found: Tally, steps: int) -> Tally:
    """Return the last steps of a tally."""
    return found.cut(max(0, found.size - steps), found.size)


def in_slices(found: Tally, slices: Timeslices) -> Tally:
    """Return minutes as slices of the clock: each counts once, as good or bad, or not where it judged nobody.

    Slices that the minutes do not hold whole, at either end, are left out.
    """
    minutes = slices.length // timedelta(minutes=1)
    numbers = found.edges_us // MINUTE_US
    first = -(-int(numbers[0]) // minutes)
    count = max(0, int(numbers[-1]) // minutes - first)
    start = first * minutes - int(numbers[0])
    edges = (first + np.arange(count + 1, dtype=np.int64)) * minutes * MINUTE_US
    cut = slice(start, start + count * minutes)
    return Tally(edges, {name: _sliced(each, cut, minutes, slices) for name, each in found.counts.items()})


def _sliced(counts: Counts, cut: slice, minutes: int, slices: Timeslices) -> Counts:
    def summed(column: Ints) -> Ints:
        total: Ints = column[cut].reshape(-1, minutes).sum(axis=1)
        return total

    good, total, unmeasured = summed(counts.good), summed(counts.total), summed(counts.unmeasured)
    judged = total > 0
    met = judged & (good >= slices.target * total)
    missing = ~judged & (unmeasured > 0)
    whole = (each.astype(np.int64) for each in (met, judged & ~met, missing, judged))
    return Counts(*whole)
