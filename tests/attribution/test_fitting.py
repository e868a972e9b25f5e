"""The fit of the weights: slopes that are right, known weights found again, a threshold that holds."""

import numpy as np
import pytest

from benchmarks.attribution.fitting import loss
from benchmarks.attribution.fitting.calibrate import threshold
from benchmarks.attribution.fitting.design import STAGES, Design
from benchmarks.attribution.fitting.loss import Fitted, fit_weights, shares_of
from benchmarks.attribution.fitting.start import start
from otel_attrib.analytics.evidence.layers import SIGNALS
from otel_attrib.analytics.evidence.signal import COLUMNS


def made(runs: int, seed: int) -> Design:
    """Runs of two stages with random signals and targets."""
    rng = np.random.default_rng(seed)
    rows = 2 * runs
    target = rng.dirichlet(np.ones(len(COLUMNS)), runs)
    part = rng.random(runs)
    return Design(
        run=np.repeat(np.arange(runs), 2),
        stage=rng.integers(0, len(STAGES), rows),
        part=np.column_stack([part, 1 - part]).ravel(),
        certain=rng.random(rows),
        strengths=rng.random((rows, len(SIGNALS))) * (rng.random((rows, len(SIGNALS))) < 0.2),
        possible=np.zeros((rows, len(COLUMNS))),
        target=target,
        weight=rng.random(runs) + 0.1,
    )


def test_slopes_are_those_of_the_loss() -> None:
    """The analytic slopes agree with central differences."""
    design, at, step = made(12, 1), start(), 1e-5
    value, on_weights, on_prior = loss._loss(design, at, at.prior.shape)
    numeric = []
    for place in range(len(SIGNALS)):
        ends = []
        for sign in (-1, 1):
            moved = at.weights.copy()
            moved[place] += sign * step
            ends.append(loss._loss(design, Fitted(at.prior, moved), at.prior.shape)[0])
        numeric.append((ends[1] - ends[0]) / (2 * step))

    assert np.isfinite(value)
    assert on_prior.shape == at.prior.shape
    assert numeric == pytest.approx(on_weights, abs=1e-7)


def test_known_model_is_found_again() -> None:
    """Targets made by known weights are fitted to within a hundredth of a share."""
    design, truth = made(300, 2), start()
    rng = np.random.default_rng(3)
    weights = truth.weights * rng.uniform(0.3, 1.5, truth.weights.size)
    shares, _ = shares_of(design, Fitted(truth.prior, weights))
    known = Design(**{**design.__dict__, "target": shares})
    fitted = fit_weights(known, start(), ridge=1e-7, ridge_prior=1e-7)

    assert float(np.abs(shares_of(known, fitted)[0] - shares).mean()) < 0.01


def test_weights_keep_their_sign() -> None:
    """Targets that contradict every signal drive weights to nought, never below."""
    fitted = fit_weights(made(100, 4), start(), ridge=0.0, ridge_prior=0.0)

    assert fitted.weights.min() >= 0.0


def test_shares_sum_to_one() -> None:
    """A run's shares over the columns are whole, whatever the weights."""
    design = made(50, 5)

    assert np.ones(50) == pytest.approx(shares_of(design, start())[0].sum(axis=1))


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([(0.6, True)] * 30, 0.5),
        ([(0.6, False)] * 3 + [(0.9, True)] * 30, 0.9),
        ([(0.6, True)] * 5, 0.5),
    ],
    ids=["all right", "low ones wrong", "too few to tell"],
)
def test_threshold(answers: list[tuple[float, bool]], expected: float) -> None:
    """t is as low as one wrong answer in twenty allows, one more counted in."""
    assert expected == threshold([(str(n), p, right, True) for n, (p, right) in enumerate(answers)])
