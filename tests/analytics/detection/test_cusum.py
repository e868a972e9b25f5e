"""The bets are fair while nothing changed, so the capital keeps to its guarantee."""

from math import exp, inf, lgamma, log

import pytest

from otel_attrib.analytics.detection import RATIOS, ECusum, Spread
from otel_attrib.analytics.detection.cusum import log_ratio


def negative_binomial(k: int, mean: float, shape: float) -> float:
    """Log P(k) by the textbook formula."""
    return (
        lgamma(k + shape)
        - lgamma(shape)
        - lgamma(k + 1)
        + shape * log(shape / (shape + mean))
        + k * log(mean / (shape + mean))
    )


def poisson(k: int, mean: float) -> float:
    """Log P(k)."""
    return k * log(mean) - mean - lgamma(k + 1)


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("mean", [0.02, 1.0, 7.5])
def test_a_bet_is_fair(ratio: float, mean: float) -> None:
    """Under the null a factor has mean 1, for Poisson and for clumped counts; discounted, less than 1."""
    plain = sum(exp(poisson(k, mean) + log_ratio(k, mean, ratio, Spread())) for k in range(500))
    clumped, discounted = (
        sum(exp(negative_binomial(k, mean, 0.8) + log_ratio(k, mean, ratio, spread)) for k in range(3000))
        for spread in (Spread(0.8), Spread(0.8, 3.0))
    )

    assert plain == pytest.approx(1, abs=1e-9)
    assert clumped == pytest.approx(1, abs=1e-6)
    assert discounted < 1


def test_a_bet_is_the_likelihood_ratio() -> None:
    """The factor is P(k; ratio·mean) / P(k; mean)."""
    for k in (0, 1, 5, 40):
        factor = negative_binomial(k, 6.0, 2.5) - negative_binomial(k, 2.0, 2.5)

        assert factor == pytest.approx(log_ratio(k, 2.0, 3.0, Spread(2.5)))


def test_large_shape_is_poisson() -> None:
    """Without over-dispersion the clumped form becomes the plain one."""
    assert log_ratio(4, 2.0, 3.0, Spread(inf)) == pytest.approx(log_ratio(4, 2.0, 3.0, Spread(1e9)))


def test_restarts_at_one() -> None:
    """A long quiet time does not weigh against a later change: a hundred quiet hours, then the same."""
    fresh, tired = ECusum(), ECusum()
    for second in range(1000):
        tired.step(second, 0.0, 1.0, Spread())

    assert fresh.step(1000, 6.0, 1.0, Spread()) == pytest.approx(tired.step(1000, 6.0, 1.0, Spread()))


def test_onset_is_where_the_change_began() -> None:
    """Twenty seconds at three times the rate after a hundred at the usual one."""
    cusum = ECusum()
    for second in range(120):
        cusum.step(second, 3.0 if second >= 100 else second % 2 * 2.0, 1.0, Spread())

    assert abs(cusum.onset - 100) <= 2
