"""Every slice up to three conditions deep, rolled up from the leaf counts.

A cuboid is a set of dimensions. Left out are dimensions that do not vary or that cut the rows as another
one does, and cuboids in which one dimension fixes another (a GPU its node): their slices are slices of a
shallower cuboid. A missing value ("") is never a condition.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from otel_attrib.analytics.columns import Floats, Ints
from otel_attrib.analytics.slices.leaves import Leaves

__all__ = ["DEPTH", "LEAST_EXCEED", "Candidates", "Where", "plan_cuboids", "roll_up"]

DEPTH = 3
LEAST_EXCEED = 8
"""Exceedances, of both windows together, without which a slice is no candidate."""
AT_MOST = 4000  # candidates; those of the fewest exceedances fall away, so that time stays bounded
TABLE_AT_MOST = 1 << 20  # keys looked up in a table rather than by bisection

Where = tuple[tuple[str, int], ...]
"""Conditions of a slice: dimension and code."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """s slices: their conditions; depth is (s,), n and exceed are (s, blocks)."""

    where: tuple[Where, ...]
    depth: Ints
    n: Floats
    exceed: Floats


def plan_cuboids(leaves: Leaves) -> list[tuple[str, ...]]:
    """Return the cuboids worth a look, shallow ones first."""
    names = _varying(leaves)
    fixed = {(a, b) for a in names for b in names if a != b and _fixes(leaves, a, b)}
    return [
        cuboid
        for depth in range(1, DEPTH + 1)
        for cuboid in combinations(names, depth)
        if not any((a, b) in fixed for a in cuboid for b in cuboid)
    ]


def _varying(leaves: Leaves) -> list[str]:
    """Return the dimensions that cut the rows, each in its own way, in the order of preference."""
    chosen: list[str] = []
    for name, column in leaves.dims.items():
        if _distinct(column.codes, len(column.labels)) > 1 and not any(
            _fixes(leaves, name, other) and _fixes(leaves, other, name) for other in chosen
        ):
            chosen.append(name)
    return chosen


def _fixes(leaves: Leaves, first: str, second: str) -> bool:
    """Whether a value of `first` leaves one value of `second`."""
    one, other = leaves.dims[first], leaves.dims[second]
    pairs = _distinct(one.codes * len(other.labels) + other.codes, len(one.labels) * len(other.labels))
    return pairs == _distinct(one.codes, len(one.labels))


def _distinct(codes: Ints, space: int) -> int:
    if space > TABLE_AT_MOST:
        return int(np.unique(codes).size)
    return int(np.count_nonzero(np.bincount(codes, minlength=1)))


def roll_up(leaves: Leaves, cuboids: list[tuple[str, ...]]) -> Candidates:
    """Return every candidate slice of the cuboids, in a fixed order."""
    where: list[Where] = []
    n, exceed = [np.zeros((0, leaves.blocks))], [np.zeros((0, leaves.blocks))]
    slow = leaves.keep(leaves.exceed > 0)
    for cuboid in cuboids:
        keys, over = _exceeding(slow, cuboid)
        if keys.size:
            where += [_conditions(leaves, cuboid, int(key)) for key in keys]
            exceed.append(over)
            n.append(_spread(leaves, _keys(leaves, cuboid), keys, leaves.n))
    depth = np.array([len(conditions) for conditions in where], dtype=np.int64)
    return _bounded(Candidates(tuple(where), depth, np.vstack(n), np.vstack(exceed)))


def _exceeding(slow: Leaves, cuboid: tuple[str, ...]) -> tuple[Ints, Floats]:
    """Return the keys of the slices with enough exceedances, and these by block."""
    key = _keys(slow, cuboid)
    keys, place = np.unique(key, return_inverse=True)
    totals = np.bincount(place, slow.exceed, minlength=keys.size)
    keys = keys[(totals >= LEAST_EXCEED) & (keys >= 0)]
    return keys, _spread(slow, key, keys, slow.exceed)


def _keys(leaves: Leaves, cuboid: tuple[str, ...]) -> Ints:
    """Return (m,) one number a slice; −1 where a value is missing."""
    key = np.zeros(leaves.n.size, dtype=np.int64)
    for name in cuboid:
        column = leaves.dims[name]
        key = key * len(column.labels) + column.codes
    for name in cuboid:
        column = leaves.dims[name]
        if column.labels[0] == "":
            key = np.where(column.codes == 0, -1, key)
    return key


def _spread(leaves: Leaves, key: Ints, keys: Ints, weight: Ints) -> Floats:
    """Return (keys, blocks) sums of `weight`; `keys` are sorted."""
    if not keys.size:
        return np.zeros((0, leaves.blocks))
    at = _places(key, keys)
    sums = np.bincount(
        (at * leaves.blocks + leaves.block), weight, minlength=(keys.size + 1) * leaves.blocks
    ).astype(np.float64)
    return sums[: keys.size * leaves.blocks].reshape(keys.size, leaves.blocks)


def _places(key: Ints, keys: Ints) -> Ints:
    """Return (m,) the place of each key among `keys`, or their number for any other."""
    space = int(keys[-1]) + 2
    if space > TABLE_AT_MOST:
        at = np.minimum(np.searchsorted(keys, key), keys.size - 1)
        return np.where(keys[at] == key, at, keys.size)
    table = np.full(space, keys.size, dtype=np.int64)
    table[keys] = np.arange(keys.size)
    # The last place stands for keys above the last wanted one, and for −1.
    return table[np.minimum(key, space - 1)]


def _conditions(leaves: Leaves, cuboid: tuple[str, ...], key: int) -> Where:
    codes = []
    for name in reversed(cuboid):
        key, code = divmod(key, len(leaves.dims[name].labels))
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
