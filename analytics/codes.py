"""Codes: small whole numbers from 0 that stand for words or groups."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["distinct", "held"]

Ints = NDArray[np.int64]

SPARSE = 4  # codes up to this many times the rows are counted; sorting takes a hundred times as long


def held(codes: Ints) -> Ints:
    """Return the codes that occur, ascending: `np.unique`."""
    if not codes.size or int(codes.max()) > SPARSE * codes.size:
        return np.unique(codes)
    return np.flatnonzero(np.bincount(codes))


def distinct(codes: Ints) -> tuple[Ints, Ints]:
    """Return the codes that occur, and the (n,) place of each row's among them: `np.unique` with inverse."""
    found = held(codes)
    if not codes.size or int(found[-1]) > SPARSE * codes.size:
        return found, np.searchsorted(found, codes)
    place = np.zeros(int(found[-1]) + 1, dtype=np.int64)
    place[found] = np.arange(found.size)
    return found, place[codes]
