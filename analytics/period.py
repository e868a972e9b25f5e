"""One window with all that is known of it: its requests, engine steps, counters and marks.

The tables have the columns of the store's tables of the same names, whether they were fetched, simulated
or imported, so that every calculation over them is a function of its arguments alone.
"""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from otel_attrib.analytics.blocks import Counts
from otel_attrib.analytics.change.whole import UpperRows
from otel_attrib.analytics.columns import Dimension, Rows
from otel_attrib.analytics.filters import DIMENSIONS
from otel_attrib.analytics.gaps import split_gaps
from otel_attrib.analytics.metric import Metric
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.attributes import DECODE_STAGES

__all__ = ["NO_TABLE", "Period", "rows_of"]

NO_TABLE = pa.table({})
"""Stands for a table from which nothing was fetched."""

TOKEN_STAGES = {"tpot", "tbt"}


@dataclass(frozen=True)
class Period:
    """One window; `rows` are the measured values of the metric asked for, `requests` all it holds.

    Where the window holds more than was fetched, `rows` and `requests` are a sample of it, `way` says
    which, `counts` are those of the whole window (None: count `requests`) and `displayed` is the
    quantile in ms of the whole window, which the sample is tilted to (None: the sample's own), within
    `bound` of it, relative. `upper` holds the window's rows that can matter to the path of a change,
    where they were few enough.
    """

    window: Window
    rows: Rows
    requests: pa.Table
    steps: pa.Table = field(default_factory=lambda: NO_TABLE)
    samples: pa.Table = field(default_factory=lambda: NO_TABLE)
    marks: pa.Table = field(default_factory=lambda: NO_TABLE)
    counts: Counts | None = None
    displayed: float | None = None
    bound: float = 0.0
    way: str = "all rows"
    upper: UpperRows | None = None


def rows_of(
    requests: pa.Table, metric: Metric, total: int | None = None, steps: pa.Table | None = None
) -> Rows:
    """Return the rows of `metric` in a table with the columns of `requests`.

    Requests without the metric are left out. `total` is how many rows the window has when the table is
    a sample of them. `steps` split single gaps into decode stages; without them a gap is `outside`.
    """
    if metric.name == "tbt":
        return _gaps(requests, total, steps)
    value = _numbers(requests, f"{metric.name}_us")
    measured = ~np.isnan(value)
    table = requests.filter(pa.array(measured))
    names, columns = zip(*metric.parts, strict=True)
    stages = np.column_stack([_stage(table, sql) for sql in columns]) / 1000
    observed = ~np.isnan(stages)
    stages = np.where(observed, stages, 0.0)
    outside = value[measured] / 1000 - stages.sum(axis=1)
    return _assemble(
        (*names, "outside"),
        np.column_stack([stages, outside]),
        np.column_stack([observed, np.ones(len(table), dtype=np.bool_)]),
        table,
        np.arange(len(table)),
        total,
    )


def _gaps(requests: pa.Table, total: int | None, steps: pa.Table | None) -> Rows:
    """Return one row a gap, split into decode stages where the engine's steps say how."""
    lists = requests["gaps_us"].combine_chunks()
    parents = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    gaps = pc.list_flatten(lists).to_numpy(zero_copy_only=False).astype(np.float64)
    stages, split = split_gaps(requests, gaps, parents, steps)
    outside = gaps - stages.sum(axis=1)
    observed = np.ones((gaps.size, len(DECODE_STAGES) + 1), dtype=np.bool_)
    observed[:, :-1] = split[:, None]
    return _assemble(
        (*DECODE_STAGES, "outside"),
        np.column_stack([stages, outside]) / 1000,
        observed,
        requests,
        parents,
        total,
    )


def _stage(table: pa.Table, sql: str) -> np.ndarray:
    """Evaluate a stage: a column, or for E2E a decode column times the tokens after the first."""
    if sql in table.column_names:
        return _numbers(table, sql)
    decode = next((name for name in table.column_names if name.startswith("decode_") and name in sql), None)
    if decode is None:
        return np.full(len(table), np.nan)
    output = np.nan_to_num(_numbers(table, "output_tokens"))
    after_first: np.ndarray = np.where(output > 1, _numbers(table, decode) * (output - 1), 0.0)
    return after_first


def _numbers(table: pa.Table, name: str) -> np.ndarray:
    if name not in table.column_names:
        return np.full(len(table), np.nan)
    numbers: np.ndarray = pc.cast(table[name], pa.float64()).to_numpy(zero_copy_only=False)
    return numbers.astype(np.float64)


def _assemble(
    names: tuple[str, ...],
    parts: np.ndarray,
    observed: np.ndarray,
    table: pa.Table,
    cluster: np.ndarray,
    total: int | None,
) -> Rows:
    """Return rows of which row i belongs to request `cluster[i]` of the table."""
    present = [name for name in DIMENSIONS if name in table.column_names]
    ids = table["trace_id"].to_pylist() if "trace_id" in table.column_names else [""] * len(table)
    return Rows(
        names=names,
        parts=parts,
        observed=observed,
        time_us=pc.cast(table["time"], pa.int64()).to_numpy(zero_copy_only=False).astype(np.int64)[cluster],
        prompt=np.nan_to_num(_numbers(table, "prompt_tokens"))[cluster],
        cached=np.nan_to_num(_numbers(table, "cached_tokens"))[cluster],
        output=np.nan_to_num(_numbers(table, "output_tokens"))[cluster],
        dims={name: Dimension.of(table[name]).take(cluster) for name in present},
        cluster=cluster.astype(np.int64),
        trace_ids=np.array(ids, dtype=object)[cluster],
        total=len(cluster) if total is None else total,
    )
