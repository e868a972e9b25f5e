"""What is learned of the clumping is what the counts were drawn with."""

import json

import numpy as np
import pytest

from otel_attrib.analytics.detection import Dispersion, Spread


def learned(counts: np.ndarray, mean: float) -> Dispersion:
    """Feed counts that have the given mean."""
    dispersion = Dispersion()
    for count in counts.tolist():
        dispersion.add(float(count), mean)
    return dispersion


def test_poisson_is_poisson() -> None:
    """Independent exceedances are not taken for clumps."""
    rng = np.random.default_rng(1)

    spread = learned(rng.poisson(1.0, 3600), 1.0).spread()

    assert spread.shape > 8
    assert 1.0 <= spread.stretch < 1.15


@pytest.mark.parametrize("shape", [0.3, 1.0, 4.0])
def test_shape_is_recovered(shape: float) -> None:
    """Negative binomial counts give their shape within a quarter, and no stretch."""
    rng = np.random.default_rng(2)
    counts = rng.negative_binomial(shape, shape / (shape + 2.0), 20_000)

    spread = learned(counts, 2.0).spread()

    assert spread.shape == pytest.approx(shape, rel=0.25)
    assert spread.stretch < 1.3


def test_lasting_bursts_stretch() -> None:
    """Rates that stay for eight seconds give sums eight times as variable as independent seconds would."""
    rng = np.random.default_rng(3)
    rates = np.repeat(rng.gamma(1.0, 20.0, 4000), 8)

    spread = learned(rng.poisson(rates), 20.0).spread()

    assert spread.stretch == pytest.approx(8, rel=0.25)


def test_too_little_is_nothing_learned() -> None:
    """A dozen bins say nothing."""
    assert Spread() == learned(np.full(12, 5), 1.0).spread()


def test_state_survives_json() -> None:
    """A dispersion that was written and read goes on as the first."""
    rng = np.random.default_rng(4)
    first = learned(rng.poisson(3.0, 501), 1.0)
    second = Dispersion.of_list(json.loads(json.dumps(first.as_list())), 1.0)
    for one in (first, second):
        for count in range(200):
            one.add(float(count % 7), 1.0)

    assert first.spread() == second.spread()
