"""What is asked: whose quantile, in which window, compared with which; read from what a user types."""

from dataclasses import dataclass
from datetime import UTC, datetime

from otel_attrib.analytics.baseline import choose_baseline
from otel_attrib.analytics.filters import EVERY_REQUEST, Filter, parse_filter
from otel_attrib.analytics.metric import Metric, metric_named
from otel_attrib.analytics.sides import parse_sides
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.windows import Window, parse_time, parse_window
from otel_attrib.errors import DataError, UsageError
from otel_attrib.schema.epoch import time_at
from otel_attrib.schema.store import Store

__all__ = ["Question", "check_level", "compare", "end_of", "pose"]


@dataclass(frozen=True, slots=True)
class Question:
    """One metric's quantile in two windows; `notes` say what was decided about the windows.

    `where` holds for both. `sides` are the two of `diff`: what each is called, and its own selection on top
    of `where`; empty for `why`.
    """

    metric: Metric
    level: float
    baseline: Window
    current: Window
    where: Filter = EVERY_REQUEST
    notes: tuple[str, ...] = ()
    sides: tuple[tuple[str, Filter], ...] = ()

    def filters(self) -> tuple[Filter, Filter]:
        """Return the whole condition of each window."""
        own = [selection for _, selection in self.sides] or [EVERY_REQUEST] * 2
        return self.where.also(own[0]), self.where.also(own[1])


def pose(
    store: Store,
    metric: str = "ttft",
    level: float = 0.99,
    window: str = "15m",
    baseline: str | None = None,
    where: tuple[str, ...] | list[str] = (),
    at: str = "now",
) -> Question:
    """Build the question from the words of a command line or of a request to the service."""
    chosen = parse_filter(where)
    named, checked = metric_named(metric), check_level(level)
    asked = parse_window(window, end_of(store, at, chosen))
    choice = choose_baseline(store, named, checked, chosen, asked, baseline)
    return Question(named, checked, choice.baseline, choice.current, chosen, choice.notes)


def compare(
    store: Store,
    a: str,
    b: str,
    metric: str = "ttft",
    level: float = 0.99,
    window: str = "15m",
    where: tuple[str, ...] | list[str] = (),
    at: str = "now",
) -> Question:
    """Build the question of `diff` from its words: A is the baseline, B the current side."""
    named, checked, chosen = metric_named(metric), check_level(level), parse_filter(where)
    sides = parse_sides(a, b, window, end_of(store, at, chosen))
    return Question(
        metric=named,
        level=checked,
        baseline=sides.a.window,
        current=sides.b.window,
        where=chosen,
        sides=(("A", sides.a.selection), ("B", sides.b.selection)),
    )


def check_level(level: float) -> float:
    """Refuse what is no quantile."""
    if not 0 < level < 1:
        raise UsageError(f"--quantile {level:g} is not strictly between 0 and 1; write P99 as 0.99")
    return level


def end_of(store: Store, at: str, where: Filter) -> datetime:
    """Return the time that windows reach back from: `now`, the `newest` request, or a given time."""
    if at == "now":
        return datetime.now(UTC)
    if at != "newest":
        return parse_time(at)
    (row,) = store.rows(statement("newest_request", where=where.sql()), where.parameters())
    if not row["requests"]:
        raise DataError(
            f"no request stored{f' with {where}' if where.allowed else ''}: nothing to look back from"
        )
    return time_at(int(row["newest_us"]) + 1)
