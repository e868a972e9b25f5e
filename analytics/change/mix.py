"""What a change of the work alone does to a quantile: the baseline's rows weighted like the current work.

The work z is model, prompt and output tokens: what users asked for. Batch size, node, version and cache
hits are the server's, carry faults, and are never adjusted for. A cell of z with under 20 baseline rows
cannot be priced: its current rows are "new workload".
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics import harrell_davis
from otel_attrib.analytics.change.bins import bin_starts
from otel_attrib.analytics.change.tilt import rank_weights
from otel_attrib.analytics.codes import distinct
from otel_attrib.analytics.columns import Flags, Floats, Ints, Rows

__all__ = ["LEAST_ROWS", "Cells", "cells_of", "ratios", "weighted_quantile"]

LEAST_ROWS = 20
BODY = 20  # bins of equal count below; at the large end a bin has a quarter of the rows above it
BEYOND = 0.02  # of the baseline's range (of log tokens) that a size may lie outside it


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
    """Cut the work of both windows into cells: by model, by the main size, and by the other if there is one.

    Bins of the main size hold ever fewer rows towards the largest, where a quantile's rows are; within a bin
    the other size is cut coarsely. Sizes far beyond the baseline's have cells of their own.
    """
    by_output = any(stage.startswith("decode_") for stage in baseline.names)
    sizes = [(rows.output, rows.prompt) if by_output else (rows.prompt,) for rows in (baseline, current)]
    a, b = _models(baseline, current)
    pairs = [(np.log1p(first), np.log1p(second)) for first, second in zip(*sizes, strict=True)]
    for edges, pair in [*((_ends, pair) for pair in pairs), *zip((_fine, _coarse), pairs, strict=False)]:
        a, b = _cut(a, b, *pair, edges)
    cells = distinct(np.concatenate([a, b]))[1]
    first, second = cells[: baseline.n], cells[baseline.n :]
    counts = np.bincount(first, minlength=1 + int(cells.max()))
    return Cells(first, second, counts >= LEAST_ROWS)


def _cut(
    a: Ints, b: Ints, size_a: Floats, size_b: Floats, edges: Callable[[Floats], Floats]
) -> tuple[Ints, Ints]:
    """Cut every cell by a size, at edges read off its baseline rows."""
    codes_a, codes_b = np.zeros_like(a), np.zeros_like(b)
    start = 0
    for cell in range(1 + int(max(a.max(), b.max()))):
        mine_a, mine_b = np.flatnonzero(a == cell), np.flatnonzero(b == cell)
        inner = edges(np.sort(size_a[mine_a]))
        codes_a[mine_a] = start + np.searchsorted(inner, size_a[mine_a], side="right")
        codes_b[mine_b] = start + np.searchsorted(inner, size_b[mine_b], side="right")
        start += inner.size + 1
    return codes_a, codes_b


def _ends(ordered: Floats) -> Floats:
    """Return the range of the sizes, a little widened."""
    if ordered.size < LEAST_ROWS:
        return np.zeros(0)
    margin = BEYOND * (1 + ordered[-1] - ordered[0])
    return np.array([ordered[0] - margin, ordered[-1] + margin])


def _fine(ordered: Floats) -> Floats:
    """Return edges of bins of ever fewer rows, from 1/BODY of them down to the least."""
    n = ordered.size
    if n < LEAST_ROWS:
        return np.zeros(0)
    return np.unique(ordered[bin_starts(n, BODY, LEAST_ROWS + 5)[1:]])


def _coarse(ordered: Floats) -> Floats:
    n = ordered.size
    if n < LEAST_ROWS:
        return np.zeros(0)
    levels = [level for level in (0.5, 0.8, 0.95) if n * (1 - level) >= 2 * LEAST_ROWS]
    return np.unique(ordered[(np.array(levels) * n).astype(np.int64)])


def _models(baseline: Rows, current: Rows) -> tuple[Ints, Ints]:
    """Return each row's model, numbered over both windows."""
    if "model" not in baseline.dims or "model" not in current.dims:
        return np.zeros(baseline.n, dtype=np.int64), np.zeros(current.n, dtype=np.int64)
    sides = [rows.dims["model"] for rows in (baseline, current)]
    labels = sorted({label for side in sides for label in side.labels})
    first, second = (
        np.array([labels.index(x) for x in side.labels], dtype=np.int64)[side.codes] for side in sides
    )
    return first, second


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
