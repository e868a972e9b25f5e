"""Sliding quantiles: one number for every step, over the window before it, by any dimensions.

From the 10 s states by default (DDSketch, merged), or from the rows with `exact`. What the number is:
the value at rank floor(q·(n−1))+1 of the n values in the window. Guarantee from states: within 1 % of
the value at that rank. For TBT the stored gaps may themselves come from a span's sketch (where the whole
series was not recorded), which adds 1 % to either. With few values the neighbouring ranks lie further
apart than all that, so windows with fewer than five values above the quantile are flagged.

A window holds the requests that arrived in [end − window, end); ends lie on multiples of the step.
States begin every 10 s, so from states window and step are multiples of 10 s. Where both are whole minutes,
the states of whole minutes are read instead: those of the same requests merged, which gives the same number.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from typing import Any

import pyarrow as pa

from otel_attrib.analytics.filters import DIMENSIONS, EVERY_REQUEST, ROLLED_UP, Filter, check_dimensions
from otel_attrib.analytics.metric import Metric
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.verdict import ROWS_ABOVE, rows_above
from otel_attrib.analytics.windows import Window
from otel_attrib.errors import UsageError
from otel_attrib.schema.store import Store

__all__ = ["SKETCH_ERROR", "STATE_SECONDS", "Bound", "Point", "Sliding", "slide", "slide_table"]

STATE_SECONDS = 10
MINUTE = 60
SKETCH_ERROR = 0.01
WINDOWS_AT_MOST = 100_000
WORTH_MERGING = 2  # states stored for each that is told apart; below it, merging them first costs more
# Two-level hash tables, made for millions of keys, cost six times the time of the merge itself here; past
# this many windows they may spill to disk and are worth it.
ONE_LEVEL: dict[str, Any] = {"group_by_two_level_threshold": 0, "group_by_two_level_threshold_bytes": 0}
ONE_LEVEL_AT_MOST = 500_000


@dataclass(frozen=True, slots=True)
class Bound:
    """By how much a number may be off, relative to what."""

    relative: float
    against: str


@dataclass(frozen=True, slots=True)
class Point:
    """The quantile of one window; `ms` is None when nothing in it was measured.

    `n` counts requests from states (a request without the metric included), values with `exact`, in both
    those sampled away as well; `few` tells that the gap to the neighbouring rank outweighs the bound, where
    with `exact` a row counts once, whatever it stands for.
    """

    end: datetime
    group: tuple[str, ...]
    n: int
    ms: float | None
    few: bool


@dataclass(frozen=True, slots=True)
class Sliding:
    """A sliding quantile as asked; `window` and `step` in whole seconds, `span` holds the windows' ends."""

    metric: Metric
    level: float
    window: int
    step: int
    span: Window
    by: tuple[str, ...] = ()
    where: Filter = EVERY_REQUEST
    exact: bool = False

    def on_states(self) -> "Sliding":
        """Return it with window and step rounded up to whole states, or as it is when exact."""
        if self.exact:
            return self
        window, step = (-(-s // STATE_SECONDS) * STATE_SECONDS for s in (self.window, self.step))
        return Sliding(self.metric, self.level, window, step, self.span, self.by, self.where, exact=False)

    def bound(self) -> Bound:
        """Return what the numbers are worth."""
        rank = "the value at rank floor(q·(n−1))+1 of the window's n"
        own = 0.0 if self.exact else SKETCH_ERROR
        shown = "exactly" if self.exact else "within 1 % of"
        if self.metric.name == "tbt":
            gaps = f"{rank} gaps, each stored exactly or, from a span's sketch, within 1 %"
            return Bound((1 + own) * (1 + SKETCH_ERROR) - 1, f"{shown} {gaps}")
        return Bound(own, f"{shown} {rank}")

    def check(self) -> None:
        """Refuse what cannot be computed, or would not fit."""
        known = DIMENSIONS if self.exact else ROLLED_UP
        check_dimensions((*self.by, *self.where.names()), known)
        windows = self.span.length.total_seconds() / self.step
        if windows > WINDOWS_AT_MOST:
            raise UsageError(f"{windows:.0f} windows are too many; take a longer step or a shorter span")


def slide(store: Store, asked: Sliding) -> list[Point]:
    """Compute every window of `asked.on_states()` that holds a request, in order of group and time."""
    whole, table = asked.on_states(), slide_table(store, asked)
    columns = [table[name].to_pylist() for name in (*whole.by, "window_end", "n", "ms")]
    for_each = table["stands_for"].to_pylist() if whole.exact else [1.0] * len(table)
    return [
        _point(tuple(map(str, row[:-3])), row[-3:], whole.level, each)
        for row, each in zip(zip(*columns, strict=True), for_each, strict=True)
    ]


def slide_table(store: Store, asked: Sliding) -> pa.Table:
    """Compute it as columns: the dimensions, `window_end` in seconds since 1970, `n`, `ms` (or NaN).

    With `exact` also `stands_for`: how many requests a row at or above the quantile stands for.
    """
    asked.check()
    whole = asked.on_states()
    parameters = {
        **whole.where.parameters(),
        "level": whole.level,
        "window": whole.window,
        "step": whole.step,
        **_ends(whole.span, whole.step),
    }
    pieces = {"dimensions": "".join(f"{name}, " for name in whole.by), "where": whole.where.sql()}
    if whole.exact:
        metric = whole.metric
        sql = statement("sliding_rows", value=metric.value, values=metric.values, **pieces)
        return store.arrow(sql, parameters)
    return _from_states(store, whole, pieces, parameters)


def _from_states(
    store: Store, whole: Sliding, pieces: dict[str, str], parameters: dict[str, Any]
) -> pa.Table:
    seconds = MINUTE if whole.window % MINUTE == 0 and whole.step % MINUTE == 0 else STATE_SECONDS
    table, bucket = ("requests_60s", "minute") if seconds == MINUTE else ("requests_10s", "bucket")
    pieces = {**pieces, "table": table, "bucket": bucket}
    (counted,) = store.rows(statement("states_count", **pieces), parameters)
    stored, distinct = int(counted["stored"]), int(counted["distinct_states"])
    kind = "states_merged" if stored > WORTH_MERGING * distinct else "states_as_stored"
    states = statement(kind, state=whole.metric.state, **pieces)
    sql = statement("sliding_states", states=states, dimensions=pieces["dimensions"])
    windows = distinct * seconds / whole.step
    return store.arrow(sql, parameters, ONE_LEVEL if windows <= ONE_LEVEL_AT_MOST else None)


def _ends(span: Window, step: int) -> dict[str, int]:
    """Return the times between which ends lie; the last is rounded up, so that the newest request is in."""
    return {"first": int(span.start.timestamp()), "last": -int(-span.end.timestamp() // step) * step}


def _point(group: tuple[str, ...], numbers: tuple[int, int, float], level: float, each: float) -> Point:
    end, n, ms = numbers
    return Point(
        end=datetime.fromtimestamp(end, UTC),
        group=group,
        n=n,
        ms=ms if isfinite(ms) else None,
        few=rows_above(n, level) / each < ROWS_ABOVE,
    )
