"""Counting codes gives what sorting them gives."""

import numpy as np
import pytest

from otel_attrib.analytics.codes import distinct, held


@pytest.mark.parametrize("most", [1, 40, 10**9])
@pytest.mark.parametrize("n", [0, 1, 500])
def test_counted_is_sorted(n: int, most: int) -> None:
    """Few and many rows, dense codes and ones far apart: the same as numpy's `unique` with its inverse."""
    codes = np.random.default_rng(n).integers(0, most, n)
    expected = np.unique(codes, return_inverse=True)
    found, place = distinct(codes)

    assert expected[0].tolist() == found.tolist() == held(codes).tolist()
    assert expected[1].tolist() == place.tolist()
