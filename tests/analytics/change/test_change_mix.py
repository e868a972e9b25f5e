"""Cells of work and the quantile of weighted rows."""

from collections.abc import Callable

import numpy as np
import pytest

from otel_attrib.analytics.change.mix import cells_of, ratios, weighted_quantile
from otel_attrib.analytics.columns import Rows
from otel_attrib.analytics.harrell_davis import quantile

Make = Callable[..., Rows]


@pytest.mark.parametrize("level", [0.1, 0.5, 0.99])
def test_whole_weights_are_copies(level: float) -> None:
    """A row of weight three counts as the row written three times."""
    random = np.random.default_rng(1)
    ordered, weights = np.sort(random.lognormal(2, 1, 500)), random.integers(0, 4, 500)

    expected = quantile(np.repeat(ordered, weights), level)
    actual = weighted_quantile(ordered, weights.astype(np.float64), level, int(weights.sum()))

    assert expected == pytest.approx(actual, rel=1e-9)


def test_upper_rows_are_enough() -> None:
    """Rows far under the quantile can stay away when their weight is known."""
    random = np.random.default_rng(2)
    ordered, weights = np.sort(random.lognormal(2, 1, 5000)), random.random(5000)
    some = slice(4500, None)

    whole = weighted_quantile(ordered, weights, 0.99, 5000)
    part = weighted_quantile(ordered[some], weights[some], 0.99, 5000, weights[:4500].sum(), weights.sum())

    assert whole == pytest.approx(part, rel=1e-12)


def test_ratios_move_the_shares() -> None:
    """Weighted by the ratios, the baseline's cells have the current window's shares; others keep theirs."""
    a, b, priced = np.array([100, 300, 10]), np.array([300, 100, 50]), np.array([True, True, False])

    ratio = ratios(a, b, priced)

    assert [300.0, 100.0, 10.0] == pytest.approx((ratio * a).tolist())


def test_equal_shares_give_ones() -> None:
    """The same work in a window of another length needs no weights."""
    ratio = ratios(np.array([30, 60]), np.array([40, 80]), np.array([True, True]))

    assert [1.0, 1.0] == ratio.tolist()


def test_every_cell_has_rows_enough(rows: Make) -> None:
    """Cells of many different sizes can all be priced, and there are more of them at the large end."""
    prompt = np.round(np.random.default_rng(3).lognormal(6, 1, (2, 5000)))
    sides = [rows(np.ones((5000, 3)), side) for side in prompt]

    cells = cells_of(*sides)

    counts = np.bincount(cells.a)
    counts = counts[counts > 0]  # a cell may hold current rows alone
    assert counts.size > 20
    assert counts.min() >= 20
    assert counts[-1] < counts[1]
    assert cells.new_share < 0.001


def test_sizes_beyond_the_baseline_are_new(rows: Make) -> None:
    """Current rows far beyond the baseline's sizes, or of a model it lacks, cannot be priced."""
    random = np.random.default_rng(4)
    prompt = random.uniform(100, 200, (2, 1000))
    prompt[1, :100] = 9000
    model = ["old"] * 900 + ["new"] * 100
    before, after = (
        rows(np.ones((1000, 3)), prompt[0], model=["old"] * 1000),
        rows(np.ones((1000, 3)), prompt[1], model=model),
    )

    assert cells_of(before, after).new_share == 0.2
