"""Every slice up to three conditions deep, rolled up from the leaf counts.

A cuboid is a set of dimensions. Left out are dimensions that do not vary or that cut the rows as another
one does, and cuboids in which one dimension fixes another (a GPU its node): their slices are slices of a
shallower cuboid. A missing value ("") is never a condition.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from otel_attrib.analytics.columns import Flags, Floats, Ints
from otel_attrib.analytics.slices.leaves import Leaves

__all__ = ["DEPTH", "LEAST_EXCEED", "Candidates", "roll_up", "varying"]

DEPTH = 3
LEAST_EXCEED = 8
"""Exceedances, of both windows together, without which a slice is no candidate."""
AT_MOST = 4000  # candidates; those of the fewest exceedances fall away, so that time stays bounded


@dataclass(frozen=True, slots=True)
class Candidates:
    """s slices: names and codes of the conditions; n and exceed are (s, blocks); depth is (s,)."""

    where: tuple[tuple[tuple[str, int], ...], ...]
    depth: Ints
    n: Floats
    exceed: Floats


def varying(leaves: Leaves) -> list[str]:
    """Return the dimensions that cut the rows, each in its own way, in the order of preference."""
    chosen: list[str] = []
    for name, column in leaves.dims.items():
        if _distinct(column.codes) > 1 and not any(_same(leaves, name, other) for other in chosen):
            chosen.append(name)
    return chosen


def _same(leaves: Leaves, first: str, second: str) -> bool:
    return _fixes(leaves, first, second) and _fixes(leaves, second, first)


def _fixes(leaves: Leaves, first: str, second: str) -> bool:
    """Whether a value of `first` leaves one value of `second`."""
    one, other = leaves.dims[first], leaves.dims[second]
    return _distinct(one.codes * len(other.labels) + other.codes) == _distinct(one.codes)


def _distinct(codes: Ints) -> int:
    return int(np.unique(codes).size)


def roll_up(leaves: Leaves, names: list[str]) -> Candidates:
    """Return every candidate slice over the dimensions `names`, in a fixed order."""
    fixed = {(a, b) for a in names for b in names if a != b and _fixes(leaves, a, b)}
    cuboids = [
        cuboid
        for depth in range(1, DEPTH + 1)
        for cuboid in combinations(names, depth)
        if not any((a, b) in fixed for a in cuboid for b in cuboid)
    ]
    where: list[tuple[tuple[str, int], ...]] = []
    n, exceed = [np.zeros((0, leaves.blocks))], [np.zeros((0, leaves.blocks))]
    for cuboid in cuboids:
        slices, rows, over = _cuboid(leaves, cuboid)
        where += slices
        n.append(rows)
        exceed.append(over)
    depth = np.array([len(conditions) for conditions in where], dtype=np.int64)
    return _bounded(Candidates(tuple(where), depth, np.vstack(n), np.vstack(exceed)))


def _cuboid(
    leaves: Leaves, cuboid: tuple[str, ...]
) -> tuple[list[tuple[tuple[str, int], ...]], Floats, Floats]:
    columns = [leaves.dims[name] for name in cuboid]
    key = np.zeros(leaves.n.size, dtype=np.int64)
    named = np.ones(leaves.n.size, dtype=np.bool_)
    for column in columns:
        key = key * len(column.labels) + column.codes
        if "" in column.labels:
            named &= column.codes != column.labels.index("")
    slow = named & (leaves.exceed > 0)
    keys, place = np.unique(key[slow], return_inverse=True)
    totals = np.bincount(place, leaves.exceed[slow], minlength=keys.size)
    keys = keys[totals >= LEAST_EXCEED]
    n = _spread(leaves, key, named, keys, leaves.n)
    exceed = _spread(leaves, key, slow, keys, leaves.exceed)
    sizes = [len(column.labels) for column in columns]
    return [_conditions(cuboid, sizes, int(k)) for k in keys], n, exceed


def _spread(leaves: Leaves, key: Ints, chosen: Flags, keys: Ints, weight: Ints) -> Floats:
    """Return (keys, blocks) sums of `weight`."""
    if not keys.size:
        return np.zeros((0, leaves.blocks))
    mine = key[chosen]
    at = np.minimum(np.searchsorted(keys, mine), keys.size - 1)
    inside = keys[at] == mine
    cell = at[inside] * leaves.blocks + leaves.block[chosen][inside]
    sums = np.bincount(cell, weight[chosen][inside], minlength=keys.size * leaves.blocks)
    return sums.reshape(keys.size, leaves.blocks).astype(np.float64)


def _conditions(cuboid: tuple[str, ...], sizes: list[int], key: int) -> tuple[tuple[str, int], ...]:
    codes = []
    for size in reversed(sizes):
        key, code = divmod(key, size)
        codes.append(code)
    return tuple(zip(cuboid, reversed(codes), strict=True))


def _bounded(candidates: Candidates) -> Candidates:
    if len(candidates.where) <= AT_MOST:
        return candidates
    order = np.sort(np.argsort(-candidates.exceed.sum(axis=1), kind="stable")[:AT_MOST])
    return Candidates(
        tuple(candidates.where[i] for i in order.tolist()),
        candidates.depth[order],
        candidates.n[order],
        candidates.exceed[order],
    )
