"""The Harrell–Davis quantile against SciPy's, and the identities that a report rests on."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.special import betainc
from scipy.stats.mstats import hdquantiles

from otel_attrib.analytics import harrell_davis

LEVELS = (0.001, 0.01, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999)

Floats = NDArray[np.float64]
SHAPES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "constant": lambda rng, n: np.full(n, 3.0),
    "uniform": lambda rng, n: rng.random(n),
    "exponential": lambda rng, n: rng.exponential(20.0, n),
    "log-normal": lambda rng, n: rng.lognormal(4.0, 1.0, n),
    "two humps": lambda rng, n: np.where(rng.random(n) < 0.02, 900.0, 80.0) * rng.lognormal(0, 0.2, n),
    "heavy tail": lambda rng, n: rng.pareto(1.5, n) + 1,
    "steps": lambda rng, n: np.floor(rng.exponential(5.0, n)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [2, 3, 10, 99, 500, 2500])
def test_equals_scipy(shape: str, n: int) -> None:
    """On every named distribution and size the quantile is SciPy's to 1e-9."""
    values = SHAPES[shape](np.random.default_rng(n), n)

    expected = np.asarray(hdquantiles(values, LEVELS))
    actual = [harrell_davis.quantile(values, level) for level in LEVELS]

    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12 * values.max())


@given(n=st.integers(1, 20_000), level=st.floats(0.0005, 0.9995))
@settings(max_examples=60, deadline=None)
def test_weights_are_the_betas(n: int, level: float) -> None:
    """Weights are the differences of the Beta distribution, and ranks left out weigh nothing."""
    first, last = harrell_davis.rank_window(n, level)
    edges = np.arange(first - 1, last + 1) / n

    expected = np.diff(betainc((n + 1) * level, (n + 1) * (1 - level), edges))
    actual = harrell_davis.weights(n, level, first, last)

    np.testing.assert_allclose(actual, expected, atol=1e-11)
    assert 1.0 == pytest.approx(expected.sum(), abs=1e-10)


def test_a_hundred_million_ranks_need_few() -> None:
    """At P99 of 100 million rows under 20 000 ranks are kept, and they peak at the quantile's rank."""
    n = 100_000_000
    first, last = harrell_davis.rank_window(n, 0.99)
    weight = harrell_davis.weights(n, 0.99, first, last)

    assert last - first < 20_000
    assert 99_000_000 == pytest.approx(first + int(weight.argmax()), abs=2)
    # The Beta is nearly normal here: its height is 1 / (σ √(2π)) with σ = √(n·0.99·0.01).
    assert 1 / np.sqrt(2 * np.pi * n * 0.99 * 0.01) == pytest.approx(weight.max(), rel=1e-4)


@given(
    parts=arrays(np.float64, (40, 5), elements=st.floats(0, 1e7, allow_subnormal=False)),
    level=st.floats(0.05, 0.99),
)
@settings(deadline=None)
def test_parts_add_up_to_the_quantile(parts: Floats, level: float) -> None:
    """The composition's parts add up to the Harrell–Davis quantile of the totals (1e-9 relative)."""
    parts = parts[np.argsort(parts.sum(axis=1))]
    weight = harrell_davis.weights(len(parts), level)

    expected = harrell_davis.quantile(parts.sum(axis=1), level)
    actual = harrell_davis.composition(weight, parts).sum()

    assert expected == pytest.approx(actual, rel=1e-9, abs=1e-300)


@given(
    parts=arrays(np.float64, (60, 4), elements=st.floats(0, 1e6, allow_subnormal=False)),
    level=st.floats(0.1, 0.99),
    share=st.floats(0.02, 0.98),
)
@settings(deadline=None)
def test_tilted_parts_add_up_to_the_displayed_number(parts: Floats, level: float, share: float) -> None:
    """For any number among the rows, the tilted parts add up to that number (1e-9 relative)."""
    parts[:, 0] += np.linspace(1.0, 100.0, len(parts))  # totals that are not all equal
    parts = parts[np.argsort(parts.sum(axis=1))]
    totals = parts.sum(axis=1)
    displayed = float(totals[0] + share * (totals[-1] - totals[0]))
    weight = np.maximum(harrell_davis.weights(len(totals), level), 1e-12)

    tilted = harrell_davis.tilt(weight, totals, displayed)

    assert 1.0 == pytest.approx(tilted.sum())
    assert displayed == pytest.approx(harrell_davis.composition(tilted, parts).sum(), rel=1e-9)


def test_tilt_refuses_a_number_outside_the_rows() -> None:
    """No weights can average to less than the smallest row."""
    with pytest.raises(ValueError, match="outside 1.0…3.0"):
        harrell_davis.tilt(np.ones(3) / 3, np.array([1.0, 2.0, 3.0]), 0.5)


@pytest.mark.parametrize("level", [0.0, 1.0, 99.0])
def test_a_level_is_a_probability(level: float) -> None:
    """Nought, one and 99 are no quantiles."""
    with pytest.raises(ValueError, match="between 0 and 1"):
        harrell_davis.weights(10, level)
