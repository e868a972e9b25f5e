"""The quantile of a whole window, without its rows: from the rows near it, or from 10 s states.

From rows: the Harrell–Davis quantile of every row, exact. Limits are guessed around it, then one statement
counts what lies outside them and returns the values within (20,000 of 100 million weigh anything); if the
guess missed, sketched limits are used, which are within 1 % and cannot miss by more.

From states: within 1 % of the value at rank floor(q·(n−1))+1; whole states plus the rows of the ragged
ends, so that it is the window asked for, whatever second it begins on.
"""

from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics import harrell_davis
from otel_attrib.analytics.columns import Floats, Ints
from otel_attrib.analytics.filters import Filter
from otel_attrib.analytics.metric import Metric
from otel_attrib.analytics.quantiles import STATE_SECONDS
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.store import Store

__all__ = ["Displayed", "quantile_from_rows", "quantile_from_states", "whole_states"]

MISSED = 1.02  # a sketched limit is within 1 % of the value at its rank
STATE_US = STATE_SECONDS * 1_000_000


@dataclass(frozen=True, slots=True)
class Displayed:
    """A quantile in ms, and how many values (from states: requests) it is of."""

    ms: float
    n: int


def quantile_from_rows(
    store: Store, metric: Metric, window: Window, where: Filter, level: float, like: Floats
) -> Displayed:
    """Return the Harrell–Davis quantile of the window; `like` is a sample of its values in ms."""
    low, high = _guess(like, level)
    found = _read(store, metric, window, where, low, high)
    answer = found.quantile(level)
    if answer is None and found.n:
        low, high = _sketch(store, metric, window, where, level, found.n)
        answer = _read(store, metric, window, where, low, high).quantile(level)
    if answer is None and found.n:  # rows arrived in between
        answer = _read(store, metric, window, where, -1e300, 1e300).quantile(level)
    return Displayed(float(answer or 0.0), found.n)


@dataclass(frozen=True, slots=True)
class _Range:
    """Distinct values in µs with how often each occurs, and how many values lie below and above them."""

    us: Floats
    rows: Ints
    below: int
    n: int

    def quantile(self, level: float) -> float | None:
        """Return the quantile in ms, or None when a value that weighs on it is not here."""
        if not self.n:
            return None
        first, last = harrell_davis.rank_window(self.n, level)
        ranks = self.below + np.cumsum(self.rows)
        if self.us.size == 0 or first <= self.below or last > ranks[-1]:
            return None
        chosen = np.searchsorted(ranks, np.arange(first, last + 1))
        weight = harrell_davis.weights(self.n, level, first, last)
        return float(weight @ self.us[chosen]) / 1000


def _guess(like: Floats, level: float) -> tuple[float, float]:
    """Return limits in µs: twice the reach of the weights in the sample, which is taken in clusters."""
    ordered = np.sort(like)
    n = ordered.size
    if not n:
        return -1e300, 1e300
    first, last = harrell_davis.rank_window(n, level)
    middle = level * n
    first, last = (int(np.clip(middle + 2 * (end - middle), 1, n)) for end in (first, last))
    at_top = last == n
    return float(ordered[first - 1]) * 1000, 1e300 if at_top else float(ordered[last - 1]) * 1000


def _sketch(
    store: Store, metric: Metric, window: Window, where: Filter, level: float, n: int
) -> tuple[float, float]:
    first, last = harrell_davis.rank_window(max(1, n), level)
    levels = {"low_level": max(0.0, (first - 2) / n), "high_level": min(1.0, (last + 1) / n)}
    sql = statement("quantile_sketch", value=metric.value, values=metric.values, where=where.sql())
    (row,) = store.rows(sql, {**window.bounds_us(), **where.parameters(), **levels})
    low, high = row["limits"]
    return float(low) / MISSED, 1e300 if last >= n - 1 else float(high) * MISSED


def _read(store: Store, metric: Metric, window: Window, where: Filter, low: float, high: float) -> _Range:
    sql = statement("quantile_range", value=metric.value, values=metric.values, where=where.sql())
    table = store.arrow(sql, {**window.bounds_us(), **where.parameters(), "low": low, "high": high})
    us, rows = table["us"].to_numpy(), table["rows"].to_numpy().astype(np.int64)
    inside = np.isfinite(us)
    return _Range(us[inside], rows[inside], int(rows[us == -np.inf].sum()), int(rows.sum()))


def quantile_from_states(
    store: Store, metric: Metric, window: Window, where: Filter, level: float
) -> Displayed:
    """Return the quantile of the window from its 10 s states."""
    values = (
        "CAST(gaps_us, 'Array(Float64)')"
        if metric.name == "tbt"
        else f"if(isNull({metric.value}), [], [assumeNotNull({metric.value})])"
    )
    sql = statement("quantile_states", state=metric.state, values=values, where=where.sql())
    parameters = {**window.bounds_us(), **where.parameters(), **whole_states(window), "level": level}
    (row,) = store.rows(sql, parameters)
    return Displayed(float(row["us"]) / 1000, int(row["requests"]))


def whole_states(window: Window) -> dict[str, int]:
    """Return the seconds, and µs, between which the window holds whole states."""
    bounds = window.bounds_us()
    first = -(-bounds["from_us"] // STATE_US)
    last = max(first, bounds["to_us"] // STATE_US)
    seconds = {"first": first * STATE_SECONDS, "last": last * STATE_SECONDS}
    return {**seconds, "whole_from_us": first * STATE_US, "whole_to_us": last * STATE_US}
