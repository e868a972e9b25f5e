"""Leaf counts: how many rows, and how many of them exceed their limit, a combination of dimensions and block.

Everything that the scan asks is a sum of these, so from a store only this table leaves. Blocks are
stretches of equal length: `early` of them in the baseline, the rest in the current window; whole blocks
are what the permutation deals out, since requests near in time are slow together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics.columns import Dimension, Flags, Floats, Ints, Rows
from otel_attrib.analytics.exceedance import Cells

__all__ = ["BLOCKS", "SCANNED", "Leaves", "blocks_of", "dimensions_of", "leaves_of_rows", "named", "scanned"]

BLOCKS = 20
BLOCKS_AT_MOST = 200
SCANNED = (
    "node",
    "gpu",
    "service",
    "model",
    "version",
    "tenant",
    "sla_class",
    "engine",
    "replica",
    "partition_id",
    "operator_id",
)
"""Dimensions scanned; of two that cut the rows alike the first is named. gpu is node and gpu_set in one."""

GPU_SEPARATOR = ":"


@dataclass(frozen=True, slots=True)
class Leaves:
    """m entries: dims by name, each (m,) codes; block, n (rows) and exceed, each (m,)."""

    dims: dict[str, Dimension]
    block: Ints
    n: Ints
    exceed: Ints
    early: int
    blocks: int

    def keep(self, chosen: Flags) -> "Leaves":
        """Return the chosen entries."""
        dims = {name: column.take(chosen) for name, column in self.dims.items()}
        return Leaves(dims, self.block[chosen], self.n[chosen], self.exceed[chosen], self.early, self.blocks)

    def by_block(self) -> tuple[Floats, Floats]:
        """Return (blocks,) rows and exceedances."""
        n, exceed = (
            np.bincount(self.block, weight, minlength=self.blocks).astype(np.float64)
            for weight in (self.n, self.exceed)
        )
        return n, exceed


def leaves_of_rows(baseline: Rows, current: Rows, cells: Cells) -> Leaves:
    """Return one entry a row, the baseline's first; a row that is not judged has n = 0."""
    sides = [cells.judge(rows) for rows in (baseline, current)]
    exceed, judged = (np.concatenate(flags).astype(np.int64) for flags in zip(*sides, strict=True))
    block, early, blocks = blocks_of(baseline.time_us, current.time_us)
    return Leaves(dimensions_of(baseline, current), block, judged, exceed, early, blocks)


def blocks_of(baseline_us: Ints, current_us: Ints) -> tuple[Ints, int, int]:
    """Return the block of each row of both, how many blocks the baseline has, and how many there are.

    A block is a twentieth of the current rows' time; stretches without a row are no blocks, so a baseline
    of several pieces is cut like one.
    """
    if not (baseline_us.size and current_us.size):
        return np.zeros(baseline_us.size + current_us.size, dtype=np.int64), int(baseline_us.size > 0), 1
    span = int(current_us.max() - current_us.min()) + 1
    before = int(baseline_us.max() - baseline_us.min()) + 1
    length = max(-(-span // BLOCKS), -(-before // BLOCKS_AT_MOST))
    _, early = np.unique((baseline_us - baseline_us.min()) // length, return_inverse=True)
    _, late = np.unique((current_us - current_us.min()) // length, return_inverse=True)
    count = int(early.max()) + 1
    return np.concatenate([early, late + count]).astype(np.int64), count, count + int(late.max()) + 1


def dimensions_of(baseline: Rows, current: Rows) -> dict[str, Dimension]:
    """Return the scanned dimensions over both windows' rows with common labels."""
    shared = [name for name in baseline.dims if name in current.dims]
    return scanned({name: _joined(baseline.dims[name], current.dims[name]) for name in shared})


def scanned(columns: Mapping[str, Dimension]) -> dict[str, Dimension]:
    """Return the columns that are scanned, in the order of preference, with `gpu` among them."""
    dims = dict(columns)
    if "node" in dims and "gpu_set" in dims:
        dims["gpu"] = _gpu(dims["node"], dims["gpu_set"])
    return {name: dims[name] for name in SCANNED if name in dims}


def _joined(first: Dimension, second: Dimension) -> Dimension:
    labels = sorted({*first.labels, *second.labels})
    place = {label: code for code, label in enumerate(labels)}
    codes = [_recoded(column, place) for column in (first, second)]
    return Dimension(np.concatenate(codes), tuple(labels))


def _recoded(column: Dimension, place: dict[str, int]) -> Ints:
    return np.array([place[label] for label in column.labels], dtype=np.int64)[column.codes]


def _gpu(node: Dimension, gpu_set: Dimension) -> Dimension:
    keys, place = np.unique(node.codes * len(gpu_set.labels) + gpu_set.codes, return_inverse=True)
    pairs = [_gpu_label(node.labels, gpu_set.labels, int(key)) for key in keys]
    labels, codes = np.unique(np.array(pairs, dtype=np.str_), return_inverse=True)
    return Dimension(codes[place].astype(np.int64), tuple(map(str, labels)))


def _gpu_label(nodes: Sequence[str], sets: Sequence[str], key: int) -> str:
    node, devices = divmod(key, len(sets))
    return f"{nodes[node]}{GPU_SEPARATOR}{sets[devices]}" if sets[devices] else ""


def named(where: dict[str, str]) -> dict[str, str]:
    """Return conditions as they can be typed: a GPU set of several devices is a node and a gpu_set."""
    words = dict(where)
    node, _, devices = words.get("gpu", "").rpartition(GPU_SEPARATOR)
    if "," in devices:
        del words["gpu"]
        words = {"node": node, "gpu_set": devices, **words}
    return words
