"""What a change of the work alone does to a quantile: the baseline's rows weighted like the current work.

The work z is model, prompt and output tokens: what users asked for. Batch size, node, version and cache
hits are the server's, carry faults, and are never adjusted for. Cells of z are bins of equal count, finer
at the large end. A cell with under 20 baseline rows cannot be priced: its current rows are "new workload".
"""

from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics import harrell_davis
from otel_attrib.analytics.change.tilt import rank_weights
from otel_attrib.analytics.columns import Flags, Floats, Ints, Rows

__all__ = ["LEAST_ROWS", "Cells", "cells_of", "ratios", "weighted_quantile"]

LEAST_ROWS = 20
FINE = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995)
COARSE = (0.25, 0.5, 0.75, 0.9, 0.97)


@dataclass(frozen=True)
class Cells:
    """Cells of z: each row's, (n_A,) and (n_B,), and which (C,) the baseline can price."""

    a: Ints
    b: Ints
    priced: Flags

    @property
    def new_share(self) -> float:
        """Return the share of current rows whose work the baseline lacks."""
        return float((~self.priced[self.b]).mean())

    def count(self, cells: Ints, block: Ints) -> Ints:
        """Return (blocks, C) rows of each cell in each block."""
        blocks, size = 1 + int(block.max()), self.priced.size
        counts: Ints = np.bincount(block * size + cells, minlength=blocks * size).reshape(blocks, size)
        return counts


def cells_of(baseline: Rows, current: Rows) -> Cells:
    """Cut the work of both windows into cells."""
    by_output = any(stage.startswith("decode_") for stage in baseline.names)
    columns = [(baseline.prompt, current.prompt, COARSE if by_output else FINE)]
    if by_output:
        columns.append((baseline.output, current.output, COARSE))
    codes = _models(baseline, current)
    for a, b, levels in columns:
        both = np.concatenate([a, b])
        inner = np.unique(np.quantile(both, levels))
        codes = codes * (inner.size + 1) + np.searchsorted(inner, both, side="right")
    cells = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    first, second = cells[: baseline.n], cells[baseline.n :]
    counts = np.bincount(first, minlength=1 + int(cells.max()))
    return Cells(first, second, counts >= LEAST_ROWS)


def _models(baseline: Rows, current: Rows) -> Ints:
    if "model" not in baseline.dims or "model" not in current.dims:
        return np.zeros(baseline.n + current.n, dtype=np.int64)
    sides = [rows.dims["model"] for rows in (baseline, current)]
    labels = sorted({label for side in sides for label in side.labels})
    numbers = [np.array([labels.index(label) for label in side.labels], dtype=np.int64) for side in sides]
    return np.concatenate([number[side.codes] for number, side in zip(numbers, sides, strict=True)])


def ratios(a: Ints, b: Ints, priced: Flags) -> Floats:
    """Return the (C,) weight of a baseline row from the (C,) rows of each cell in both windows.

    Priced cells get the current window's shares among themselves; the other rows of the baseline keep
    theirs. Equal shares give ones.
    """
    ratio = np.ones(priced.size)
    inside_a, inside_b = int(a[priced].sum()), int(b[priced].sum())
    held = priced & (a > 0)
    if not inside_a or not inside_b or bool((a[held] * inside_b == b[held] * inside_a).all()):
        return ratio
    ratio[held] = (b[held] * inside_a) / (a[held] * inside_b)
    return ratio


def weighted_quantile(
    ordered: Floats, weights: Floats, level: float, n: int, start: float = 0.0, total: float | None = None
) -> float:
    """Return the Harrell–Davis quantile of weighted values, of which the upper ones are given in order.

    `start` is the weight of those not given, which are lower; `total` that of all n values.
    """
    total = start + float(weights.sum()) if total is None else total
    first, last = harrell_davis.rank_window(n, level)
    beta = np.concatenate([[0.0], np.cumsum(rank_weights(n, level, first, last))])
    reached = np.concatenate([[start], start + np.cumsum(weights)]) * (n / total)
    mass = np.diff(np.interp(reached, np.arange(first - 1, last + 1), beta))
    return float((mass * ordered).sum() / mass.sum())
