"""The jackknife against textbook variances, Student's distribution against SciPy, coverage under a null."""

import numpy as np
import pytest
from scipy import stats

from otel_attrib.analytics import harrell_davis
from otel_attrib.analytics.intervals import (
    Estimate,
    difference,
    jackknife,
    student_cdf,
    student_quantile,
)


@pytest.mark.parametrize("freedom", [1, 1.5, 2, 19, 38.3, 1000])
def test_student_is_scipys(freedom: float) -> None:
    """Distribution and quantiles agree with SciPy."""
    for t in (-60, -3, -0.2, 0, 1, 4.7, 20):
        assert stats.t.cdf(t, freedom) == pytest.approx(student_cdf(t, freedom), abs=1e-11)
    for p in (0.0005, 0.2, 0.9, 0.975):
        assert stats.t.ppf(p, freedom) == pytest.approx(student_quantile(p, freedom), rel=1e-8)


def test_mean_of_equal_blocks() -> None:
    """For a mean over blocks of one row the jackknife is the squared standard error s²/n."""
    values = np.random.default_rng(3).normal(10, 2, 50)
    without = (values.sum() - values[:, None]) / 49

    (estimate,) = jackknife(np.array([values.mean()]), without, np.ones(50, dtype=np.int64))

    assert values.var(ddof=1) / 50 == pytest.approx(estimate.variance)
    assert 49.0 == estimate.freedom


def test_mean_of_unequal_blocks() -> None:
    """With blocks of unequal size the variance still agrees with the true one, 4/n, on average."""
    rng = np.random.default_rng(4)
    sizes = np.array([5, 10, 20, 40, 5, 10, 20, 40, 30, 20])
    block = np.repeat(np.arange(sizes.size), sizes)
    variances = []
    for _ in range(300):
        values = rng.normal(10, 2, block.size)
        without = np.array([[values[block != b].mean()] for b in range(sizes.size)])
        variances.append(jackknife(np.array([values.mean()]), without, sizes)[0].variance)

    assert 4 / block.size == pytest.approx(float(np.mean(variances)), rel=0.1)


def test_one_block_knows_nothing() -> None:
    """A single block gives an interval without ends and even odds."""
    (estimate,) = jackknife(np.array([7.0]), np.zeros((1, 1)), np.array([12]))

    assert (-np.inf, np.inf) == estimate.interval()
    assert 0.5 == estimate.probability_above(100.0)


def test_difference_follows_welch() -> None:
    """Variances add; freedom is Welch–Satterthwaite's, as SciPy's two-sample t test has it."""
    rng = np.random.default_rng(5)
    a, b = rng.normal(0, 1, 12), rng.normal(3, 4, 30)
    ours = difference(
        Estimate(b.mean(), b.var(ddof=1) / b.size, b.size - 1),
        Estimate(a.mean(), a.var(ddof=1) / a.size, a.size - 1),
    )
    theirs = stats.ttest_ind(b, a, equal_var=False)

    assert theirs.df == pytest.approx(ours.freedom)
    assert tuple(theirs.confidence_interval(0.95)) == pytest.approx(ours.interval(), rel=1e-9)
    assert stats.ttest_ind(b, a, equal_var=False, alternative="greater").pvalue == pytest.approx(
        1 - ours.probability_above(0.0), rel=1e-9
    )


def test_covers_the_truth_under_a_null() -> None:
    """Two windows of one distribution: the 95 % interval of their P99's difference holds zero in 90–99 %."""
    rng = np.random.default_rng(6)
    n, blocks, runs = 600, 20, 200
    block = np.arange(n) * blocks // n
    sizes = np.bincount(block)
    whole_weight, part_weight = (harrell_davis.weights(m, 0.99) for m in (n, n - sizes[0]))

    def side() -> Estimate:
        values = rng.lognormal(4, 0.8, n)
        without = [[part_weight @ np.sort(values[block != b])] for b in range(blocks)]
        return jackknife(np.array([whole_weight @ np.sort(values)]), np.array(without), sizes)[0]

    held = 0
    for _ in range(runs):
        low, high = difference(side(), side()).interval()
        held += low <= 0 <= high

    assert 0.90 <= held / runs <= 0.99


def test_a_number_known_exactly_has_no_width() -> None:
    """Nought that a calculation does not have is nought at both ends, however sure it is."""
    assert (0.0, 0.0) == Estimate(0.0, 0.0, float("inf")).interval()


def test_endless_freedom_is_the_normal_distribution() -> None:
    """With no limit of blocks the interval is ±1.96 deviations."""
    low, high = Estimate(10.0, 4.0, float("inf")).interval()

    assert [6.08007, 13.91993] == pytest.approx([low, high], abs=1e-3)
    assert pytest.approx(0.841345, abs=1e-4) == Estimate(10.0, 4.0, float("inf")).probability_above(8.0)
