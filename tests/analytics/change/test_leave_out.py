"""The quick way to leave a block out against rows without that block."""

from collections.abc import Callable

import numpy as np
import pytest

from otel_attrib.analytics.change.leave_out import baseline_side, current_side
from otel_attrib.analytics.change.mix import cells_of
from otel_attrib.analytics.change.repaired import Restoration
from otel_attrib.analytics.change.sizes import fit_sizes
from otel_attrib.analytics.columns import Rows
from otel_attrib.analytics.harrell_davis import quantile

Make = Callable[..., Rows]
N = 3000


def sides(rows: Make) -> tuple[Rows, Rows, np.ndarray]:
    """Two windows of unlike work, and blocks of unlike size."""
    random = np.random.default_rng(1)
    prompt = np.round(random.lognormal([[6.0], [6.3]], 0.7, (2, N)))
    parts = random.lognormal(0, 0.4, (2, N, 3)) * prompt[:, :, None]
    block = np.sort(random.integers(0, 12, N) ** 2 // 12)
    return rows(parts[0], prompt[0]), rows(parts[1], prompt[1]), np.unique(block, return_inverse=True)[1]


@pytest.mark.parametrize("level", [0.5, 0.99])
@pytest.mark.parametrize("block", [0, 3, 7])
def test_baseline_without_a_block(rows: Make, level: float, block: int) -> None:
    """Quantile, re-weighted quantile and tail are those of a baseline that never had the block."""
    baseline, current, blocks = sides(rows)
    kept = blocks != block
    cells = cells_of(baseline, current)
    fewer = type(cells)(cells.a[kept], cells.b, cells.priced)

    quick = baseline_side(baseline, cells, (blocks, blocks), level, 0.0).lines(a=block)
    rest = np.zeros(int(kept.sum()), dtype=np.int64)
    slow = baseline_side(baseline.take(kept), fewer, (rest, blocks), level, 0.0).lines()

    assert slow == pytest.approx(quick, rel=1e-9)
    assert quantile(baseline.values[kept], level) == pytest.approx(quick[0], rel=1e-12)


@pytest.mark.parametrize("block", [0, 5])
def test_current_without_a_block(rows: Make, block: int) -> None:
    """Path and tail are those of a current window that never had the block, when no map has noise."""
    _, current, blocks = sides(rows)
    back = Restoration(fit_sizes(current), ())
    restored = current.parts * [1.0, 0.6, 1.0]
    kept = blocks != block
    whole = current_side(current, restored, back, blocks, 0.99, (0.0, 0.0))
    rest = np.zeros(int(kept.sum()), dtype=np.int64)
    fewer = current_side(current.take(kept), restored[kept], back, rest, 0.99, (0.0, 0.0))

    assert fewer.path().stages == pytest.approx(whole.without_b(block).stages, rel=1e-3)
    assert fewer.path().after == pytest.approx(whole.without_b(block).after, rel=1e-12)
    assert fewer.tail() == pytest.approx(whole.tail(block), rel=1e-9)
