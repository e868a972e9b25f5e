"""A window cut into blocks of time × node, and what was counted in each.

Twenty slices of time give the jackknife its degrees of freedom; nodes are put into at most four
groups, so that a large fleet does not cut a small window into blocks of one row.
"""

from dataclasses import dataclass
from datetime import timedelta
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.columns import Ints, Rows
from otel_attrib.analytics.filters import Filter
from otel_attrib.analytics.metric import Metric
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.store import Store

__all__ = ["NODE_GROUPS", "SLICES", "Counts", "block_ids", "block_parameters", "count_blocks"]

SLICES = 20
NODE_GROUPS = 4


@dataclass(frozen=True, slots=True)
class Counts:
    """What one window holds; `sizes` counts the measured values (requests; gaps for TBT) of each block."""

    requests: int
    failed: int
    expected: int
    answered: int
    prompt_tokens: int
    output_tokens: int
    missing: dict[str, float]
    sizes: NDArray[np.int64]

    @property
    def measured(self) -> int:
        """Return how many values of the metric there are."""
        return int(self.sizes.sum())

    @property
    def complete(self) -> float:
        """Return the share of the requests that should carry the metric and do."""
        return self.answered / self.expected if self.expected else 1.0


def block_parameters(window: Window) -> dict[str, int]:
    """Return the parameters that cut `window` into blocks in SQL."""
    slice_us = -(-(window.length // timedelta(microseconds=1)) // SLICES)
    return {**window.bounds_us(), "slice_us": slice_us, "node_groups": NODE_GROUPS}


def block_ids(rows: Rows, window: Window) -> Ints:
    """Return the (n,) block of each row, numbered from 0 without gaps.

    The slices are those of the SQL; nodes are put into groups by a checksum of their names, so that a
    node is in the same group whatever other nodes there are.
    """
    parameters = block_parameters(window)
    slices = (rows.time_us - parameters["from_us"]) // parameters["slice_us"]
    groups = np.zeros(rows.n, dtype=np.int64)
    if "node" in rows.dims:
        node = rows.dims["node"]
        names = np.array([crc32(name.encode()) % NODE_GROUPS for name in node.labels], dtype=np.int64)
        groups = names[node.codes]
    blocks = np.clip(slices, 0, SLICES - 1) * NODE_GROUPS + groups
    compact: Ints = np.unique(blocks, return_inverse=True)[1].astype(np.int64)
    return compact


def count_blocks(store: Store, metric: Metric, window: Window, where: Filter) -> Counts:
    """Count the requests of a window by block."""
    flags = ", ".join(f"toUInt64({metric.values} > 0 AND isNull({sql}))" for _, sql in metric.parts)
    sql = statement(
        "window_blocks",
        values=metric.values,
        expected=metric.expected,
        missing=f"[{flags}]" if flags else "CAST([], 'Array(UInt64)')",
        where=where.sql(),
    )
    rows = store.rows(sql, {**block_parameters(window), **where.parameters()})

    def total(name: str) -> int:
        return sum(int(row[name]) for row in rows)

    lacking = np.array([row["missing"] for row in rows], dtype=np.int64)
    lacking = lacking.reshape(len(rows), len(metric.parts)).sum(axis=0)
    sizes = np.array([row["measured"] for row in rows if row["measured"]], dtype=np.int64)
    return Counts(
        requests=total("requests"),
        failed=total("failed"),
        expected=total("expected"),
        answered=total("answered"),
        prompt_tokens=total("prompt_total"),
        output_tokens=total("output_total"),
        missing=dict(zip(metric.stages, (lacking / max(1, int(sizes.sum()))).tolist(), strict=False)),
        sizes=sizes,
    )
