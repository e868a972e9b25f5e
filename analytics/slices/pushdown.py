"""The slice scan over windows too large to fetch: the store counts, only leaf counts leave it.

The limits are fitted to a sample of the baseline (`detection.counts.fetch_limits`, 100,000 requests), so
the baseline's own rate is not exactly 1 − level; both windows are judged by the same limits, and the scan
compares them.
"""

import numpy as np
import pyarrow as pa

from otel_attrib.analytics.columns import Dimension, Ints
from otel_attrib.analytics.filters import ROLLED_UP, Filter
from otel_attrib.analytics.limit_grid import LimitGrid
from otel_attrib.analytics.metric import Metric
from otel_attrib.analytics.slices.leaves import BLOCKS, BLOCKS_AT_MOST, Leaves, scanned
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.store import Store

__all__ = ["fetch_leaves", "leaves_of_tables"]


def fetch_leaves(
    store: Store, metric: Metric, baseline: Window, current: Window, where: Filter, limits: LimitGrid
) -> Leaves:
    """Count both windows by leaf and block; a block is a twentieth of the current window's time."""
    spans = [bounds["to_us"] - bounds["from_us"] for bounds in (baseline.bounds_us(), current.bounds_us())]
    block_us = max(-(-spans[1] // BLOCKS), -(-spans[0] // BLOCKS_AT_MOST))
    sql = statement(
        "leaf_counts",
        value=metric.value,
        values=metric.values,
        limit=limits.sql(),
        where=where.sql(),
        dimensions="".join(f"{name}, " for name in ROLLED_UP),
    )
    tables = [
        store.arrow(
            sql,
            {**window.bounds_us(), **where.parameters(), **limits.parameters(), "block_us": block_us},
        )
        for window in (baseline, current)
    ]
    return leaves_of_tables(*tables)


def leaves_of_tables(baseline: pa.Table, current: pa.Table) -> Leaves:
    """Return the leaves of two tables of counts: columns of dimensions, `block`, `n` and `exceed`."""
    tables = (baseline, current)
    names = [name for name in baseline.column_names if name not in ("block", "n", "exceed")]
    dims = {name: _both([table[name] for table in tables]) for name in names}
    early, late = (np.unique(_ints(table, "block"), return_inverse=True) for table in tables)
    block = np.concatenate([early[1], late[1] + early[0].size]).astype(np.int64)
    n, exceed = (np.concatenate([_ints(table, name) for table in tables]) for name in ("n", "exceed"))
    return Leaves(scanned(dims), block, n, exceed, int(early[0].size), int(early[0].size + late[0].size))


def _both(columns: list[pa.ChunkedArray]) -> Dimension:
    return Dimension.of(np.concatenate([np.asarray(c.to_pylist(), dtype=np.str_) for c in columns]))


def _ints(table: pa.Table, name: str) -> Ints:
    numbers: Ints = table[name].to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers
