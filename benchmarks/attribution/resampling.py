"""Intervals over runs by bootstrap: drawn with replacement, seeded, percentiles of 2,000 draws."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Figure", "mean_of", "median_of", "ratio_of"]

DRAWS = 2000
SEED = 20_260_501
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Figure:
    """A number, its 95 % interval over runs, and how many runs it rests on (0: unknown, NaN)."""

    value: float
    low: float
    high: float
    n: int


def ratio_of(over: Floats, under: Floats) -> Figure:
    """Return Σ over / Σ under, with an interval; `under` is how much each run counts.

    Draws from runs that all agree agree too, so a share of none or all has its exact binomial interval
    (Clopper and Pearson 1934).
    """
    over, under = np.asarray(over, dtype=np.float64), np.asarray(under, dtype=np.float64)
    n = int((under > 0).sum())
    if not n:
        return Figure(np.nan, np.nan, np.nan, 0)
    drawn = np.random.default_rng(SEED).integers(0, under.size, size=(DRAWS, under.size))
    bottom = under[drawn].sum(axis=1)
    ratios = over[drawn].sum(axis=1)[bottom > 0] / bottom[bottom > 0]
    low, high = np.quantile(ratios, [0.025, 0.975])
    value = float(over.sum() / under.sum())
    if set(np.unique(under)) <= {0.0, 1.0} and set(np.unique(over)) <= {0.0, 1.0} and value in (0.0, 1.0):
        reach = 1 - 0.025 ** (1 / n)
        low, high = (0.0, reach) if value == 0 else (1 - reach, 1.0)
    return Figure(value, float(low), float(high), n)


def mean_of(values: Floats) -> Figure:
    """Return the mean of what is known (NaN is not), with an interval."""
    values = np.asarray(values, dtype=np.float64)
    known = ~np.isnan(values)
    return ratio_of(np.where(known, values, 0.0), known.astype(np.float64))


def median_of(values: Floats) -> Figure:
    """Return the median of what is known, with an interval."""
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    if not known.size:
        return Figure(np.nan, np.nan, np.nan, 0)
    drawn = np.random.default_rng(SEED).integers(0, known.size, size=(DRAWS, known.size))
    low, high = np.quantile(np.median(known[drawn], axis=1), [0.025, 0.975])
    return Figure(float(np.median(known)), float(low), float(high), int(known.size))
