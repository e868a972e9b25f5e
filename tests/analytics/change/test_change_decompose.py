"""Books of a change that must balance, over rows made here."""

import numpy as np
import pytest

from otel_attrib.analytics.change.decompose import decompose
from otel_attrib.analytics.columns import Dimension, Floats, Rows

STAGES = ("queue", "prefill", "outside")


def rows(parts: Floats, prompt: Floats | None = None) -> Rows:
    """Rows with these (n, 3) stages, one a second."""
    n = parts.shape[0]
    tokens = np.full(n, 100.0) if prompt is None else prompt
    return Rows(
        names=STAGES,
        parts=parts,
        observed=np.ones(parts.shape, dtype=np.bool_),
        time_us=np.arange(n, dtype=np.int64) * 1_000_000,
        prompt=tokens,
        cached=np.zeros(n),
        output=np.full(n, 10.0),
        dims={"model": Dimension(np.zeros(n, dtype=np.int64), ("m",))},
        cluster=np.arange(n),
        trace_ids=np.array([f"{i:032x}" for i in range(n)], dtype=object),
        total=n,
    )


def test_nothing_changed() -> None:
    """Compared with itself, a window gives exactly nothing on every line."""
    same = rows(np.random.default_rng(1).lognormal(2, 1, (2000, 3)))
    blocks = np.arange(2000) // 100

    change = decompose(same, same, 0.99, blocks, blocks)

    lines = [*change.stages.values(), change.workload, change.unexplained, change.delta]
    assert [0.0] * 6 == [line.value for line in lines]


@pytest.mark.parametrize("stage", [0, 1])
def test_one_slower_stage(stage: int) -> None:
    """A stage of the same rows that takes twice as long is given the whole change."""
    parts = np.random.default_rng(2).lognormal(2, 0.5, (5000, 3))
    slower = parts.copy()
    slower[:, stage] *= 2
    blocks = np.arange(5000) // 250

    change = decompose(rows(parts), rows(slower), 0.99, blocks, blocks)

    assert change.delta.value == pytest.approx(change.stages[STAGES[stage]].value, rel=0.02)
    assert change.sum_error_ms < 1e-9
