"""A window cut into blocks of time × node, and what was counted in each.

Twenty slices of time give the jackknife its degrees of freedom; nodes are put into at most four
groups, so that a large fleet does not cut a small window into blocks of one row.
"""

from dataclasses import dataclass
from datetime import timedelta
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.codes import distinct
from otel_attrib.analytics.columns import Ints, Rows
from otel_attrib.analytics.windows import Window

__all__ = ["NODE_GROUPS", "SLICES", "Counts", "block_ids"]

SLICES = 20
NODE_GROUPS = 4


@dataclass(frozen=True, slots=True)
class Counts:
    """What one window holds; `sizes` counts the measured values (requests; gaps for TBT) of each block.

    Requests that were sampled away are counted in all of them. `kept` is the share of the requests that is
    stored, `each` how many values a stored one at or above the quantile stands for.
    """

    requests: int
    failed: int
    expected: int
    answered: int
    prompt_tokens: int
    output_tokens: int
    missing: dict[str, float]
    sizes: NDArray[np.int64]
    kept: float = 1.0
    each: float = 1.0

    @property
    def measured(self) -> int:
        """Return how many values of the metric there are."""
        return int(self.sizes.sum())

    @property
    def complete(self) -> float:
        """Return the share of the requests that should carry the metric and do."""
        return self.answered / self.expected if self.expected else 1.0


def block_ids(rows: Rows, window: Window) -> Ints:
    """Return the (n,) block of each row, numbered from 0 without gaps.

    Nodes are put into groups by a checksum of their names, so that a node is in the same group whatever
    other nodes there are.
    """
    slice_us = -(-(window.length // timedelta(microseconds=1)) // SLICES)
    slices = (rows.time_us - window.bounds_us()["from_us"]) // slice_us
    groups = np.zeros(rows.n, dtype=np.int64)
    if "node" in rows.dims:
        node = rows.dims["node"]
        names = np.array([crc32(name.encode()) % NODE_GROUPS for name in node.labels], dtype=np.int64)
        groups = names[node.codes]
    blocks = np.clip(slices, 0, SLICES - 1) * NODE_GROUPS + groups
    return distinct(blocks)[1]
