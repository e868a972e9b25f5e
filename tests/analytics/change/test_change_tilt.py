"""Weights that meet a displayed number."""

import numpy as np
import pytest

from otel_attrib.analytics.change.tilt import displayed_weights, rank_weights, shift


@pytest.mark.parametrize("off", [-0.03, -0.001, 0.0, 0.002, 0.04])
def test_displayed_number_is_met(off: float) -> None:
    """The weighted mean is the displayed number to 3e-13 of it, and the weights sum to one."""
    totals = np.sort(np.random.default_rng(1).lognormal(4, 0.5, 20_000))
    displayed = float(np.quantile(totals, 0.99)) * (1 + off)

    weights = displayed_weights(totals, 0.99, displayed)

    assert displayed == pytest.approx(float(weights @ totals), rel=3e-13)
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)


def test_number_out_of_range() -> None:
    """A number that no row reaches is refused, and the range is named."""
    with pytest.raises(ValueError, match="outside"):
        displayed_weights(np.sort(np.random.default_rng(2).random(100)), 0.9, 5.0)


def test_shift_stops_at_the_rows() -> None:
    """A shift beyond the rows at hand puts all weight on the outermost of them."""
    ranked = np.array([1.0, 2.0, 3.0])

    assert [0.0, 0.0, 1.0] == shift(np.array([0.2, 0.6, 0.2]), ranked, 9.0).tolist()
    assert [1.0, 0.0, 0.0] == shift(np.array([0.2, 0.6, 0.2]), ranked, -9.0).tolist()


def test_no_shift_no_change() -> None:
    """Without a shift the weights are the very same, and the kept ones cannot be written to."""
    weight = rank_weights(100, 0.9, 1, 100)

    assert shift(weight, np.arange(100.0), 0.0) is weight
    assert not weight.flags.writeable
