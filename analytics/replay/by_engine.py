"""Where each engine's rows stand, in columns that are in order of engine."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["by_engine"]

Ints = NDArray[np.int64]


def by_engine(engine: Ints) -> list[tuple[int, slice]]:
    """Return each engine's code and its rows; (n,) codes, ascending. −1 (unknown) comes first."""
    edges = [0, *(np.flatnonzero(np.diff(engine)) + 1).tolist(), engine.size]
    return [
        (int(engine[first]), slice(first, last))
        for first, last in zip(edges, edges[1:], strict=False)
        if first < last
    ]
