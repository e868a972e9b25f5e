"""What the scan may name: the shallowest slice that says it all, and nothing that chance explains."""

import numpy as np
import pytest

from otel_attrib.analytics.columns import Dimension
from otel_attrib.analytics.slices import Leaves, scan
from otel_attrib.analytics.slices.cuboids import plan_cuboids
from otel_attrib.analytics.slices.leaves import named

BLOCKS = 20


def leaves(dims: dict[str, np.ndarray], rise: np.ndarray, seed: int = 1, rows: int = 50) -> Leaves:
    """`rows` rows a leaf and block of two windows of 20; 1 % exceed, in the second `rise` times that."""
    rng = np.random.default_rng(seed)
    block = np.repeat(np.arange(2 * BLOCKS), rise.size)
    rate = 0.01 * np.where(block >= BLOCKS, np.tile(rise, 2 * BLOCKS), 1.0)
    n = np.full(block.size, rows, dtype=np.int64)
    words = {name: Dimension.of(np.tile(column, 2 * BLOCKS)) for name, column in dims.items()}
    return Leaves(words, block, n, rng.binomial(n, np.minimum(1, rate)), BLOCKS, 2 * BLOCKS)


NODES = np.repeat(["n0", "n1", "n2", "n3"], 4)
GPUS = np.array([f"{node}:{gpu}" for node, gpu in zip(NODES, list("0123") * 4, strict=True)])
FOUR = ["n0:0", "n1:1", "n2:2", "n3:3"]
TENANTS = np.array(list("abab") * 4)
FLEET = {"node": NODES, "gpu": GPUS, "tenant": TENANTS}


def test_a_gpu_is_named_without_its_node() -> None:
    """A GPU fixes its node, so the pair of both is never looked at and a slow GPU is one condition."""
    found = scan(leaves(FLEET, np.where(GPUS == "n2:1", 8.0, 1.0)), 0.99)

    assert [{"gpu": "n2:1"}] == [one.where for one in found.slices]
    assert not any({"gpu", "node"} <= set(cuboid) for cuboid in plan_cuboids(leaves(FLEET, np.ones(16))))


def test_a_node_is_named_rather_than_its_gpus() -> None:
    """When all GPUs of a node are slow, the node explains it better than any of them."""
    found = scan(leaves(FLEET, np.where(NODES == "n1", 5.0, 1.0)), 0.99)

    assert [{"node": "n1"}] == [one.where for one in found.slices]
    assert found.slices[0].share_of_excess > 0.9


def test_what_cuts_alike_is_named_once() -> None:
    """Two dimensions that always go together are one; the first in the order of preference is named."""
    alike = {"node": NODES, "engine": np.char.add("engine of ", NODES), "tenant": TENANTS}

    found = scan(leaves(alike, np.where(NODES == "n1", 5.0, 1.0)), 0.99)

    assert [{"node": "n1"}] == [one.where for one in found.slices]


def test_one_that_fell_slower_is_no_slice() -> None:
    """When all others get faster, who stayed the same is not called slower."""
    found = scan(leaves(FLEET, np.where(NODES == "n3", 1.0, 0.05)), 0.99)

    assert () == found.slices
    assert not found.global_


def test_all_slower_and_one_more_so() -> None:
    """A rise everywhere is global, whoever rose most; his rows are named as well."""
    found = scan(leaves(FLEET, np.where(NODES == "n0", 6.0, 4.0)), 0.99)

    assert found.global_
    assert found.complement_share > 0.5


def test_three_faults_at_most() -> None:
    """Of four slow GPUs on four nodes three are named, each with its share."""
    found = scan(leaves(FLEET, np.where(np.isin(GPUS, FOUR), 9.0, 1.0), rows=100), 0.99)

    assert 3 == len(found.slices)
    assert all(0.15 < one.share_of_excess < 0.35 for one in found.slices)


def test_a_missing_value_is_no_slice() -> None:
    """Requests of which a dimension is not known are not named by its absence."""
    unknown = np.where(NODES == "n1", "", NODES)

    found = scan(leaves({"node": unknown}, np.where(NODES == "n1", 5.0, 1.0)), 0.99)

    assert all("" not in one.where.values() for one in found.slices)


def test_a_new_version_can_be_named() -> None:
    """A version that the baseline does not have is judged by the expected rate."""
    made = leaves({"version": np.array(["1", "2"])}, np.array([1.0, 6.0]), rows=200)
    late = made.block >= BLOCKS
    kept = made.keep(late | (made.dims["version"].codes == 0))

    found = scan(kept, 0.99)

    assert [{"version": "2"}] == [one.where for one in found.slices]


@pytest.mark.parametrize("clumped", [False, True], ids=["independent", "clumped"])
def test_chance_names_nothing(clumped: bool) -> None:
    """Of forty pairs of equal windows 5 in 100 may have a slice: here six at most (P < 0.01 for more)."""
    found = 0
    for seed in range(40):
        made = leaves(FLEET, np.ones(16), seed=seed)
        if clumped:  # slow stretches of one node, which are no change
            rng = np.random.default_rng((seed, 1))
            bad = rng.random((4, 2 * BLOCKS)) < 0.15
            slow = bad[made.dims["node"].codes, made.block]
            made = Leaves(
                made.dims,
                made.block,
                made.n,
                np.where(slow, 5 * made.exceed, made.exceed),
                BLOCKS,
                2 * BLOCKS,
            )
        found += bool(scan(made, 0.99).slices)

    assert found <= 6


def test_same_leaves_same_answer() -> None:
    """The permutation is seeded, and the order of the entries does not matter."""
    made = leaves(FLEET, np.where(GPUS == "n2:1", 8.0, 1.0))
    shuffled = np.random.default_rng(5).permutation(made.n.size)
    other = Leaves(
        {name: column.take(shuffled) for name, column in made.dims.items()},
        made.block[shuffled],
        made.n[shuffled],
        made.exceed[shuffled],
        BLOCKS,
        2 * BLOCKS,
    )

    assert scan(made, 0.99).slices == scan(other, 0.99).slices


def test_sets_of_devices_can_be_typed() -> None:
    """One device is told as node:device; a set of them as the two dimensions that a filter knows."""
    assert {"gpu": "node3:GPU-5"} == named({"gpu": "node3:GPU-5"})
    assert {"node": "a:b", "gpu_set": "GPU-0,GPU-1", "tenant": "t"} == named(
        {"gpu": "a:b:GPU-0,GPU-1", "tenant": "t"}
    )
