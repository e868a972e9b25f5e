"""Who was hit, and that nobody is singled out by chance."""

from collections.abc import Callable

import numpy as np
import pytest

from otel_attrib.analytics.change.hit import partitions_of, time_slices
from otel_attrib.analytics.change.spread import Sorted
from otel_attrib.analytics.columns import Floats, Rows

Make = Callable[..., Rows]


def partition_of(baseline: Rows, current: Rows, before: Floats, now: Floats) -> tuple[str, list[set[str]]]:
    """Return what the rows go by, and the nodes of each part."""
    found = partitions_of(baseline, current, np.arange(baseline.n) // 100).hit(
        Sorted.of(before), Sorted.of(now), np.ones(baseline.n)
    )
    if found is None:
        return "", []
    part, node = found.of(current), current.dims["node"].words()
    return found.groups.by, [set(node[part == number].tolist()) for number in range(found.parts)]


@pytest.mark.parametrize("share", [0.02, 1.0], ids=["tail", "all"])
def test_slow_nodes_are_found(rows: Make, share: float) -> None:
    """Two slow nodes of twelve are one part, also where only a few of their requests are slow."""
    random = np.random.default_rng(1)
    nodes = [[f"n{i:02}" for i in side] for side in random.integers(0, 12, (2, 12_000))]
    before, now = random.lognormal(0, 0.5, (2, 12_000))
    slow = np.isin(np.array(nodes[1]), ["n03", "n07"]) & (random.random(12_000) < max(share, 0.2))
    now[slow] *= 6
    baseline, current = (rows(np.ones((12_000, 3)), node=side) for side in nodes)

    by, parts = partition_of(baseline, current, before, now)

    assert by == "node"
    assert parts[1] == {"n03", "n07"}


def test_noise_singles_nobody_out(rows: Make) -> None:
    """Of thirty pairs of windows without a fault, none is split."""
    random = np.random.default_rng(2)
    found = []
    for _ in range(30):
        nodes = [[f"n{i}" for i in side] for side in random.integers(0, 8, (2, 3000))]
        baseline, current = (rows(np.ones((3000, 3)), node=side) for side in nodes)
        before, now = random.lognormal(0, 1, (2, 3000))
        found.append(partition_of(baseline, current, before, now)[0])

    assert [""] * 30 == found


def test_a_slow_node_that_always_was_is_not_hit(rows: Make) -> None:
    """A node that is as slow as it was at baseline is left alone, however many more requests it gets."""
    random = np.random.default_rng(3)
    slow = random.random((2, 5000)) < np.array([[0.1], [0.4]])
    before, now = random.lognormal(0, 0.3, (2, 5000)) * np.where(slow, 4.0, 1.0)
    baseline, current = (
        rows(np.ones((5000, 3)), node=["slow" if flag else "fast" for flag in side]) for side in slow
    )

    assert ("", []) == partition_of(baseline, current, before, now)


def test_a_wave_that_the_baseline_has_too_is_noise(rows: Make) -> None:
    """Slices of time that differ as they do at baseline are not a fault."""
    random = np.random.default_rng(4)
    wave = np.sin(np.arange(6000) / 6000 * 12)
    before, now = random.lognormal(0.3 * wave, 0.3, (2, 6000))
    same = rows(np.ones((6000, 3)), node=["n"] * 6000)

    assert ("", []) == partition_of(same, same, before, now)


def test_slices_are_twenty_equal_stretches(rows: Make) -> None:
    """Slices of time are of equal length over the time that the rows span."""
    slices = time_slices(rows(np.ones((200, 3))))

    assert np.repeat(np.arange(20), 10).tolist() == slices.tolist()
