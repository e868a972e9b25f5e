"""The path against the exact Shapley value, its certificate, and rows that were never given."""

import numpy as np
import pytest

from benchmarks.attribution.shapley import shapley
from otel_attrib.analytics.change.path import reach, walk
from otel_attrib.analytics.columns import Floats
from otel_attrib.analytics.harrell_davis import quantile


def slowed(n: int, seed: int) -> tuple[Floats, Floats]:
    """Seven stages that share a load, before and after three of them slow down for some rows."""
    random = np.random.default_rng(seed)
    before = random.lognormal(2, 0.5, (n, 7)) * np.exp(0.3 * random.normal(size=(n, 1)))
    after = before.copy()
    after[:, 1] *= 1.3
    after[random.random(n) < 0.4, 3] *= 3
    after[:, 5] += random.exponential(5, n)
    return before, after


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_near_the_exact_shapley_value(level: float) -> None:
    """With three stages at fault, no stage is further from 2^7 quantiles' answer than 3 % of the change."""
    before, after = slowed(4000, 1)

    exact, path = shapley(before, after, level), walk(before, after, level)

    assert exact == pytest.approx(path.stages, rel=0, abs=0.03 * exact.sum())


@pytest.mark.parametrize("nodes", [(1,), (4,), (4, 8, 12)], ids=str)
def test_adds_up_whatever_the_nodes(nodes: tuple[int, ...]) -> None:
    """The stages add up to the change of the quantile, also where one point is far too few."""
    before, after = slowed(3000, 2)

    path = walk(before, after, 0.99, nodes=nodes)

    change = quantile(after.sum(axis=1), 0.99) - quantile(before.sum(axis=1), 0.99)
    assert change == pytest.approx(path.stages.sum(), abs=4e-13 * change + 1e-12)
    assert change == pytest.approx(path.after - path.before, abs=1e-12 * path.after)


def test_one_row_gives_its_own_differences() -> None:
    """With one row the quantile is that row, and each stage's part is what it changed by."""
    path = walk(np.array([[1.0, 5.0]]), np.array([[4.0, 3.0]]), 0.99)

    assert [3.0, -2.0] == pytest.approx(path.stages.tolist())


def test_untouched_stages_get_nothing() -> None:
    """A stage that no row's time changed in is given exactly nothing."""
    before, after = slowed(2000, 3)

    assert [0.0] * 4 == walk(before, after, 0.99).stages[[0, 2, 4, 6]].tolist()


def test_rows_that_cannot_matter_only_count() -> None:
    """A twentieth of the rows gives the path of all of them, with a certificate."""
    before, after = slowed(20_000, 4)
    whole = walk(before, after, 0.99)

    near = reach(before.sum(axis=1), after.sum(axis=1), 0.99)
    below, above = int(near.below.sum()), int(near.above.sum())
    some = walk(before[near.rows], after[near.rows], 0.99, below, above)

    assert near.rows.sum() < 0.1 * 20_000
    assert near.rows.sum() + below + above == 20_000
    assert whole.stages == pytest.approx(some.stages, rel=1e-12)
    assert (True, True) == (whole.certified, some.certified)


def test_missing_rows_are_noticed() -> None:
    """When rows are left out that weigh on the quantile, the certificate is withheld."""
    before, after = slowed(20_000, 5)
    top = after.sum(axis=1) > np.quantile(after.sum(axis=1), 0.995)

    path = walk(before[top], after[top], 0.99, below=int((~top).sum()))

    assert not path.certified


def test_ties_share_their_weight() -> None:
    """Rows of equal totals are exchangeable: which of them is listed first changes nothing."""
    random = np.random.default_rng(6)
    before = random.integers(1, 4, (300, 3)).astype(np.float64)
    after = before + random.integers(0, 2, (300, 3))
    order = random.permutation(300)

    assert walk(before, after, 0.9).stages == pytest.approx(
        walk(before[order], after[order], 0.9).stages, rel=1e-12
    )


def test_shifted_ends() -> None:
    """Numbers displayed for both ends are met, and a common factor of both leaves the shares alone."""
    before, after = slowed(5000, 7)
    plain = walk(before, after, 0.99)

    path = walk(before, after, 0.99, shifts=(0.02 * plain.before, 0.02 * plain.after))

    assert 1.02 * (plain.after - plain.before) == pytest.approx(path.stages.sum(), rel=1e-12)
    assert 1.02 * plain.stages == pytest.approx(path.stages, rel=0.1)
