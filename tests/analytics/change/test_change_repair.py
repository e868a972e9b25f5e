"""The map back to the baseline: nothing, a factor, or quantile against quantile."""

import numpy as np
import pytest

from otel_attrib.analytics.change.repair import Repair, fit_repair, lots
from otel_attrib.analytics.change.spread import Sorted, Spread, largest_gap
from otel_attrib.analytics.columns import Floats


def spread(values: Floats, blocks: int = 20) -> Spread:
    """All rows with equal weights, in blocks of their order."""
    n = values.size
    block = np.arange(n) * blocks // n
    return Sorted.of(values).spread(np.ones(n, dtype=np.bool_), np.ones(n), block, block)


def repaired(baseline: Floats, current: Floats) -> tuple[Repair, Floats]:
    """The map and what it makes of the current residuals."""
    repair = fit_repair(spread(baseline), spread(current))
    return repair, repair(current, lots(np.arange(current.size)))


def test_noise_is_nothing() -> None:
    """Two windows of one distribution leave every residual as it is, in 39 of 40 tries."""
    random = np.random.default_rng(1)
    kinds = [repaired(random.lognormal(0, 1, 3000), random.lognormal(0, 1, 2500))[0].kind for _ in range(40)]

    assert kinds.count("nothing") >= 39


def test_factor_is_one_factor() -> None:
    """Residuals half as long again are divided by 1.5 to 2 %, in the tail as in the middle."""
    random = np.random.default_rng(2)
    current = 1.5 * random.lognormal(0, 0.5, 8000)

    repair, back = repaired(random.lognormal(0, 0.5, 8000), current)

    assert repair.kind == "factor"
    assert current / back == pytest.approx(np.full(8000, 1.5), rel=0.02)


def test_quantiles_meet_quantiles() -> None:
    """A change of shape is undone: the repaired residuals have the baseline's quantiles up to the tail."""
    random = np.random.default_rng(3)
    baseline, current = random.lognormal(0, 0.5, 20_000), random.pareto(3, 20_000) + 0.5

    repair, back = repaired(baseline, current)

    levels = np.array([0.1, 0.5, 0.9, 0.99, 0.999])
    assert repair.kind == "quantiles"
    assert np.quantile(baseline, levels) == pytest.approx(np.quantile(back, levels), rel=0.02)


def test_order_is_kept() -> None:
    """A slower request stays the slower one."""
    random = np.random.default_rng(4)
    current = np.sort(random.gamma(2, 3, 4000))

    _, back = repaired(random.lognormal(0, 1, 3000), current)

    assert (np.diff(back) >= 0).all()
    assert back.min() >= 0


@pytest.mark.parametrize(("before", "now"), [(0.2, 0.6), (0.6, 0.2), (0.0, 0.5), (0.5, 0.0)])
def test_mostly_zero(before: float, now: float) -> None:
    """As many requests wait after the repair as waited at baseline, and as long."""
    random = np.random.default_rng(5)
    baseline, current = (
        random.exponential(9, 6000) * (random.random(6000) < share) for share in (before, now)
    )

    _, back = repaired(baseline, current)

    assert np.mean(baseline > 0) == pytest.approx(np.mean(back > 1e-9), abs=0.01)
    assert baseline.mean() == pytest.approx(back.mean(), rel=0.03, abs=1e-9)


def test_ties_and_whole_numbers() -> None:
    """Residuals of few values are given the baseline's shares of values."""
    random = np.random.default_rng(6)
    baseline, current = (random.poisson(mean, 8000).astype(np.float64) for mean in (3, 5))

    _, back = repaired(baseline, current)

    assert baseline.mean() == pytest.approx(back.mean(), rel=0.02)
    assert baseline.std() == pytest.approx(back.std(), rel=0.05)


@pytest.mark.parametrize("values", [[4.0], [0.0], [3.0] * 50], ids=["one", "none", "equal"])
def test_too_little_to_see(values: list[float]) -> None:
    """One row, or rows all equal on both sides, are left as they are."""
    same = np.array(values)

    _, back = repaired(same, same)

    assert same.tolist() == back.tolist()


def test_all_equal_but_slower() -> None:
    """Fifty rows of 3 that were all 2 before are 2 again."""
    _, back = repaired(np.full(50, 2.0), np.full(50, 3.0))

    assert [2.0] * 50 == pytest.approx(back.tolist())


def test_shared_slowness_is_noise() -> None:
    """Blocks that are slow together count as few: what one row each would prove, they do not."""
    random = np.random.default_rng(7)
    loads = np.repeat(np.exp(0.3 * random.normal(size=(2, 20))), 200, axis=1)
    baseline, current = loads * random.lognormal(0, 0.2, (2, 4000))
    alone = [spread(side, blocks=4000) for side in (baseline, current)]
    limits = np.unique(baseline)[::40]

    gap = largest_gap(spread(baseline), spread(current), limits)

    assert gap < 3.5 < largest_gap(alone[0], alone[1], limits)


def test_leaving_out_a_block_moves_the_knots_as_refitting_does() -> None:
    """The moves without a block are near those of a map fitted without its rows."""
    random = np.random.default_rng(8)
    baseline, current = random.lognormal(0, 0.5, 8000), random.pareto(3, 8000) + 0.5
    whole = fit_repair(spread(baseline), spread(current))
    kept = np.arange(8000) >= 400

    some = fit_repair(spread(baseline[kept]), spread(current))
    probe = np.quantile(current, [0.3, 0.6, 0.9, 0.97])
    fast = np.interp(probe, whole.at, whole.without_a[0]) - np.interp(probe, whole.at, whole.move)
    slow = np.interp(probe, some.at, some.move) - np.interp(probe, whole.at, whole.move)

    assert np.corrcoef(fast, slow)[0, 1] > 0.9


def test_lots_depend_on_the_row_alone() -> None:
    """Lots follow their rows into any order, spread evenly over (0, 1)."""
    columns = np.arange(10_000), np.random.default_rng(9).random(10_000)
    order = np.random.default_rng(10).permutation(10_000)

    lot = lots(*columns)

    assert lot[order].tolist() == lots(columns[0][order], columns[1][order]).tolist()
    assert np.histogram(lot, 10, (0, 1))[0].min() > 900
