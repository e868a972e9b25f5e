"""What a change of the work alone does to a quantile: the baseline's rows weighted like the current work.

The work z is model, prompt and output tokens: what users asked for. Batch size, node, version and cache
hits are the server's, carry faults, and are never adjusted for. Cells of z are bins of equal count, finer
at the large end. A cell with under 20 baseline rows cannot be priced: its current rows are "new workload".
"""

from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics import harrell_davis
from otel_attrib.analytics.change.sizes import tokens_of
from otel_attrib.analytics.columns import Floats, Ints, Rows

__all__ = ["LEAST_ROWS", "Mix", "cells_of", "weigh", "weighted_quantile"]

LEAST_ROWS = 20
EDGES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995)
COARSE = (0.25, 0.5, 0.75, 0.9, 0.97)


@dataclass(frozen=True)
class Mix:
    """(n_A,) weights of the baseline's rows, and the share of current rows in cells that it lacks."""

    weights: Floats
    new_share: float


def cells_of(baseline: Rows, current: Rows) -> tuple[Ints, Ints]:
    """Return each row's cell of z in both windows, (n_A,) and (n_B,), from 0."""
    stages = [[tokens_of(rows, stage) for stage in rows.names] for rows in (baseline, current)]
    by_output = any(tokens is current.output for tokens in stages[1])
    columns = [(baseline.prompt, current.prompt, COARSE if by_output else EDGES)]
    if by_output:
        columns.append((baseline.output, current.output, COARSE))
    codes = _codes(baseline, current)
    for a, b, levels in columns:
        inner = np.unique(np.quantile(np.concatenate([a, b]), levels))
        codes = codes * (inner.size + 1) + np.searchsorted(inner, np.concatenate([a, b]), side="right")
    _, cells = np.unique(codes, return_inverse=True)
    return cells[: baseline.n].astype(np.int64), cells[baseline.n :].astype(np.int64)


def _codes(baseline: Rows, current: Rows) -> Ints:
    words = [
        rows.dims["model"].words() if "model" in rows.dims else np.full(rows.n, "")
        for rows in (baseline, current)
    ]
    return np.unique(np.concatenate(words), return_inverse=True)[1].astype(np.int64)


def weigh(a: Ints, b: Ints) -> Mix:
    """Weigh the baseline's rows so that each cell's share is the current window's."""
    size = 1 + int(max(a.max(), b.max()))
    counts_a, counts_b = np.bincount(a, minlength=size), np.bincount(b, minlength=size)
    priced = counts_a >= LEAST_ROWS
    new = float(counts_b[~priced].sum() / b.size)
    inside_a, inside_b = counts_a[priced].sum(), counts_b[priced].sum()
    if not inside_a or not inside_b:
        return Mix(np.ones(a.size), new)
    ratio = np.ones(size)
    ratio[priced] = (counts_b[priced] / inside_b) / (counts_a[priced] / inside_a)
    if new == 0 and (counts_a * b.size == counts_b * a.size).all():
        ratio[:] = 1.0
    return Mix(ratio[a], new)


def weighted_quantile(ordered: Floats, weights: Floats, level: float) -> float:
    """Return the Harrell–Davis quantile of sorted values with weights; equal ones give the usual quantile."""
    n = ordered.size
    first, last = harrell_davis.rank_window(n, level)
    plain = harrell_davis.weights(n, level, first, last)
    if bool((weights == weights[0]).all()):
        return float(plain @ ordered[first - 1 : last])
    at = np.cumsum(weights) * (n / weights.sum())
    beta = np.concatenate([[0.0], np.cumsum(plain)])
    mass = np.diff(np.interp(np.concatenate([[0.0], at]), np.arange(first - 1, last + 1), beta))
    return float(mass @ ordered / mass.sum())
