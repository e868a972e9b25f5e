"""One series over stretches of time: the increase of a total, the mean of a gauge.

A total is known at its readings; between two it grows evenly here, and somehow in truth, so beside the
`value` stand `low` and `high`, between which the truth lies: what readings inside the stretch already show,
and what those around it allow. A gauge holds its reading, for no longer than its readings are apart as a rule
(half as long again); `low` and `high` are the readings that had a part in it.

`coverage` is the share of the stretch that readings stand for, each weighted by the part of its own span that
lies inside: 1 when readings lie at both ends, near 1 when the stretch is many readings long, a tenth for a
stretch of 50 ms between two readings half a second apart, which say nothing of it in particular.

Everything is linear in the number of readings; a stretch costs a binary search.
"""

from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics.columns import Floats, Ints
from otel_attrib.analytics.totals import steps

__all__ = ["HOLD_US", "Measured", "increase", "level"]

HOLD_US = 60_000_000
"""No reading stands for more than a minute."""
JITTER = 1.5


@dataclass(frozen=True, slots=True)
class Measured:
    """(k,) each, NaN where nothing is known. `high` is NaN too where a stretch reaches past the readings."""

    value: Floats
    low: Floats
    high: Floats
    coverage: Floats


def increase(time: Ints, value: Floats, start: Ints, end: Ints, wraps: bool, slack: float = 0.0) -> Measured:
    """Return what a total grew by in each stretch; `slack` (µs) is how far the clocks may be apart.

    time, value: (n,) readings, times rising. start, end: (k,) stretches on the same scale.
    """
    time, value = _distinct(time, value)
    if time.size < 2:
        return _nothing(start.size)
    grown = np.append(0.0, np.cumsum(steps(value, wraps)))
    left, right = np.clip(start, time[0], time[-1]), np.clip(end, time[0], time[-1])
    known = right > left
    at = time - time[0]
    between = np.interp(right - time[0], at, grown) - np.interp(left - time[0], at, grown)
    return Measured(
        value=np.where(known, between, np.nan),
        low=np.where(known, _least(time, grown, *_moved(start, end, slack)), np.nan),
        high=np.where(known, _most(time, grown, *_moved(start, end, -slack)), np.nan),
        coverage=np.where(known, _inside(time[:-1], time[1:], left, right) / (end - start), 0.0),
    )


def _moved(start: Ints, end: Ints, inwards: float) -> tuple[Floats, Floats]:
    """Return stretches whose ends lie so far further inwards."""
    return np.asarray(start + inwards, dtype=np.float64), np.asarray(end - inwards, dtype=np.float64)


def _least(time: Ints, grown: Floats, start: Floats, end: Floats) -> Floats:
    first = np.searchsorted(time, start, side="left").clip(0, time.size - 1)
    last = (np.searchsorted(time, end, side="right") - 1).clip(0, time.size - 1)
    return np.asarray(np.maximum(grown[last] - grown[first], 0.0))


def _most(time: Ints, grown: Floats, start: Floats, end: Floats) -> Floats:
    first = np.searchsorted(time, start, side="right") - 1
    last = np.searchsorted(time, end, side="left")
    within = (first >= 0) & (last < time.size)
    return np.where(within, grown[last.clip(0, time.size - 1)] - grown[first.clip(0)], np.nan)


def level(
    time: Ints, value: Floats, start: Ints, end: Ints, means: bool = False, slack: float = 0.0
) -> Measured:
    """Return the mean of a gauge in each stretch; with `means` a reading stands for the time before it."""
    time, value = _distinct(time, value)
    if not time.size:
        return _nothing(start.size)
    begins, ends = _spans(time, means)
    lengths = ends - begins
    known = np.append(0.0, np.cumsum(lengths))
    area = np.append(0.0, np.cumsum(lengths * value))
    seconds = _upto(begins, ends, known, None, end) - _upto(begins, ends, known, None, start)
    total = _upto(begins, ends, area, value, end) - _upto(begins, ends, area, value, start)
    mean = np.full(start.size, np.nan)
    np.divide(total, seconds, out=mean, where=seconds > 0)
    low, high = _extremes(begins, ends, value, *_moved(start, end, -slack))
    return Measured(
        value=mean,
        low=np.where(seconds > 0, np.minimum(low, mean), np.nan),
        high=np.where(seconds > 0, np.maximum(high, mean), np.nan),
        coverage=_inside(begins, ends, start, end) / (end - start),
    )


def _spans(time: Ints, means: bool) -> tuple[Floats, Floats]:
    """Return (n,) from when to when each reading stands."""
    gaps = np.diff(time)
    hold = float(HOLD_US if not gaps.size else min(HOLD_US, JITTER * np.sort(gaps)[gaps.size // 2]))
    reach = np.append(np.minimum(gaps, hold), hold)
    at = time.astype(np.float64)
    return (at - np.roll(reach, 1), at) if means else (at, at + reach)


def _upto(begins: Floats, ends: Floats, sums: Floats, height: Floats | None, at: Ints) -> Floats:
    """Return (k,) the integral up to a time: of `height`, or of the time itself."""
    span = np.searchsorted(begins, at, side="right") - 1
    inside = span.clip(0)
    part = np.minimum(at, ends[inside]) - begins[inside]
    tall = part if height is None else part * height[inside]
    return np.where(span >= 0, sums[inside] + tall, 0.0)


def _inside(begins: Floats | Ints, ends: Floats | Ints, start: Ints, end: Ints) -> Floats:
    """Return (k,) µs of each stretch that spans cover, each weighted by its own share that lies inside."""
    lengths = (ends - begins).astype(np.float64)
    known = np.append(0.0, np.cumsum(lengths))
    first = np.searchsorted(begins, start, side="right") - 1
    last = np.searchsorted(begins, end, side="left") - 1
    one = _weighted(begins, ends, lengths, first, start, end)
    other = np.where(last > first, _weighted(begins, ends, lengths, last, start, end), 0.0)
    middle = np.where(last > first + 1, known[last.clip(0)] - known[(first + 1).clip(0, lengths.size)], 0.0)
    return np.asarray(one + middle + other)


def _weighted(
    begins: Floats | Ints, ends: Floats | Ints, lengths: Floats, span: Ints, start: Ints, end: Ints
) -> Floats:
    at = span.clip(0)
    part = np.maximum(np.minimum(end, ends[at]) - np.maximum(start, begins[at]), 0)
    return np.where(span >= 0, part.astype(np.float64) ** 2 / np.maximum(lengths[at], 1.0), 0.0)


def _extremes(
    begins: Floats, ends: Floats, value: Floats, start: Floats, end: Floats
) -> tuple[Floats, Floats]:
    """Return (k,) the lowest and the highest reading that stands for a part of each stretch."""
    first = np.searchsorted(ends, start, side="right")
    last = np.searchsorted(begins, end, side="left")
    low, high = np.full(start.size, np.nan), np.full(start.size, np.nan)
    for number in np.flatnonzero(last > first):
        part = value[first[number] : last[number]]
        low[number], high[number] = part.min(), part.max()
    return low, high


def _distinct(time: Ints, value: Floats) -> tuple[Ints, Floats]:
    """Return one reading a time: of several the last."""
    last = np.append(time[1:] != time[:-1], True)[: time.size]
    return (time, value) if last.all() else (time[last], value[last])


def _nothing(size: int) -> Measured:
    unknown = np.full(size, np.nan)
    return Measured(unknown, unknown, unknown, np.zeros(size))
