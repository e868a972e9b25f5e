"""Sliding quantiles: one number for every step, over the window before it, by any dimensions.

From the 10 s states by default (DDSketch, merged), or from the rows with `exact`. What the number is:
the value at rank floor(q·(n−1))+1 of the n values in the window. Guarantee from states: within 1 % of
the value at that rank. For TBT the stored gaps may themselves come from a span's sketch (where the whole
series was not recorded), which adds 1 % to either. With few values the neighbouring ranks lie further
apart than all that, so windows with fewer than five values above the quantile are flagged.

A window holds the requests that arrived in [end − window, end); ends lie on multiples of the step.
States begin every 10 s, so from states window and step are multiples of 10 s.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite

from otel_attrib.analytics.filters import DIMENSIONS, EVERY_REQUEST, ROLLED_UP, Filter, check_dimensions
from otel_attrib.analytics.metric import Metric
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.verdict import ROWS_ABOVE, rows_above
from otel_attrib.analytics.windows import Window
from otel_attrib.errors import UsageError
from otel_attrib.schema.store import Store

__all__ = ["STATE_SECONDS", "Bound", "Point", "Sliding", "slide"]

STATE_SECONDS = 10
SKETCH_ERROR = 0.01
WINDOWS_AT_MOST = 100_000


@dataclass(frozen=True, slots=True)
class Bound:
    """By how much a number may be off, relative to what."""

    relative: float
    against: str


@dataclass(frozen=True, slots=True)
class Point:
    """The quantile of one window; `ms` is None when nothing in it was measured.

    `n` counts requests from states (a request without the metric included), values with `exact`;
    `few` tells that the gap to the neighbouring rank outweighs the bound.
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
    asked.check()
    whole = asked.on_states()
    columns = "".join(f"{name}, " for name in whole.by)
    if whole.exact:
        sql = statement(
            "sliding_rows",
            dimensions=columns,
            value=whole.metric.value,
            values=whole.metric.values,
            where=whole.where.sql(),
        )
    else:
        sql = statement(
            "sliding_states", dimensions=columns, state=whole.metric.state, where=whole.where.sql()
        )
    parameters = {
        **whole.where.parameters(),
        "level": whole.level,
        "window": whole.window,
        "step": whole.step,
        **_ends(whole.span, whole.step),
    }
    return [_point(row, whole.by, whole.level) for row in store.rows(sql, parameters)]


def _ends(span: Window, step: int) -> dict[str, int]:
    """Return the times between which ends lie; the last is rounded up, so that the newest request is in."""
    return {"first": int(span.start.timestamp()), "last": -int(-span.end.timestamp() // step) * step}


def _point(row: dict[str, object], by: Sequence[str], level: float) -> Point:
    n, ms = int(str(row["n"])), float(str(row["ms"]))
    return Point(
        end=datetime.fromtimestamp(int(str(row["window_end"])), UTC),
        group=tuple(str(row[name]) for name in by),
        n=n,
        ms=ms if isfinite(ms) else None,
        few=rows_above(n, level) < ROWS_ABOVE,
    )
