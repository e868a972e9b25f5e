"""A quantile of one coalition's values: over all rows, and with each block of rows left out."""

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.harrell_davis import rank_window, weights

__all__ = ["Leaving"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Leaving:
    """Blocks of n rows and the Harrell–Davis weights of all of them and of all but each."""

    def __init__(self, blocks: Ints, level: float) -> None:
        """Prepare for (n,) block numbers; only blocks that hold rows count."""
        names, self._block = np.unique(blocks, return_inverse=True)
        self.sizes: Ints = np.bincount(self._block).astype(np.int64)
        self._plans = [_plan(blocks.size, level)]
        self._plans += [_plan(blocks.size - int(size), level) for size in self.sizes if names.size > 1]

    def worth(self, values: Floats) -> Floats:
        """Return (1 + B,): the quantile of (n,) values, then of those outside each block."""
        below = min(first for first, _, _ in self._plans) - 1  # rows that weigh nowhere
        upper = np.argpartition(values, below)[below:]
        upper = upper[np.argsort(values[upper], kind="stable")]
        ordered, block = values[upper], self._block[upper]
        under = self.sizes - np.bincount(block, minlength=self.sizes.size)
        found = np.empty(len(self._plans))
        for i, (first, last, weight) in enumerate(self._plans):
            kept, fewer = (ordered, below) if i == 0 else (ordered[block != i - 1], below - under[i - 1])
            found[i] = weight @ kept[first - 1 - fewer : last - fewer]
        return found


def _plan(n: int, level: float) -> tuple[int, int, Floats]:
    first, last = rank_window(n, level)
    return first, last, weights(n, level, first, last)
