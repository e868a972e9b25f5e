"""Rows that stand for several requests, as so many copies.

Where requests were sampled away, a kept one carries how many it stands for (`weight`, whole numbers). As
copies its like count in every quantile, rate, mix and count as if nothing had been left out, and they lie in
one block of time and node, so that intervals by blocks hold. How much is really known is told by the rows
themselves: `rows_kept` counts a copy as its share of the row.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = ["WEIGHT", "copies", "repeated", "rows_kept", "weights_of"]

WEIGHT = "weight"
"""Column of `requests`: how many requests a row stands for."""


def weights_of(requests: pa.Table) -> NDArray[np.int64]:
    """Return the (n,) weight of each row; a table without the column has ones."""
    if WEIGHT not in requests.column_names:
        return np.ones(len(requests), dtype=np.int64)
    weights: NDArray[np.int64] = pc.fill_null(requests[WEIGHT], 1).to_numpy().astype(np.int64)
    return weights


def copies(values: NDArray[Any], weights: NDArray[np.int64]) -> NDArray[Any]:
    """Return each of (n,) or (n, k) `values` as often as its weight says, in order."""
    return values if weights.size == 0 or weights.max() <= 1 else np.repeat(values, weights, axis=0)


def repeated(requests: pa.Table) -> pa.Table:
    """Return the table with each row as often as it counts; without weights above one it loses the column."""
    weights = weights_of(requests)
    if weights.size == 0 or weights.max() <= 1:
        return requests.drop_columns(WEIGHT) if WEIGHT in requests.column_names else requests
    return requests.take(pa.array(np.repeat(np.arange(len(requests)), weights)))


def rows_kept(repeats: pa.Table) -> float:
    """Return how many rows a table made by `repeated` was made of."""
    return float((1 / weights_of(repeats)).sum()) if WEIGHT in repeats.column_names else float(len(repeats))
