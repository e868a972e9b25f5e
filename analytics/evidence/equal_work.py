"""Means before and after at equal work: within classes of it, weighted as they are now."""

from collections.abc import Mapping

import numpy as np

from otel_attrib.analytics.columns import Floats, Ints

__all__ = ["classes", "equal_work"]

WIDEST = 64


def classes(*sizes: Floats) -> Ints:
    """Return (n,) class numbers: half octaves of each size, 0 and unknown being classes of their own."""
    out = np.zeros(sizes[0].size, dtype=np.int64)
    for size in sizes:
        known = np.nan_to_num(size)
        octave = np.ceil(2 * np.log2(np.maximum(known, 1.0))).astype(np.int64) + 1
        out = out * WIDEST + np.where(known > 0, np.minimum(octave, WIDEST - 1), 0)
    return out


def equal_work(
    keys: tuple[Ints, Ints],
    columns: tuple[Mapping[str, Floats], Mapping[str, Floats]],
    each: int,
    together: int,
) -> dict[str, tuple[float, float]]:
    """Return column → mean before and after over the classes that both sides hold at least `each` of.

    Columns with fewer than `together` current values in such classes are left out; NaN is not observed.
    """
    labels, codes = np.unique(np.concatenate(keys), return_inverse=True)
    split = codes[: keys[0].size], codes[keys[0].size :]
    out: dict[str, tuple[float, float]] = {}
    for name in columns[0]:
        if name not in columns[1]:
            continue
        sides = [_means(code, side[name], labels.size) for code, side in zip(split, columns, strict=True)]
        counts = [count for _, count in sides]
        shared = (counts[0] >= each) & (counts[1] >= each)
        weight = counts[1][shared]
        if weight.sum() >= together:
            before, after = (float(mean[shared] @ weight / weight.sum()) for mean, _ in sides)
            out[name] = before, after
    return out


def _means(codes: Ints, values: Floats, size: int) -> tuple[Floats, Floats]:
    known = ~np.isnan(values)
    count = np.bincount(codes[known], minlength=size).astype(np.float64)
    total = np.bincount(codes[known], values[known], size)
    return total / np.maximum(count, 1.0), count
