"""What a window at hand holds, counted from its table, and counted up where that is a sample."""

from dataclasses import replace

import numpy as np
import pyarrow.compute as pc

from otel_attrib.analytics import harrell_davis
from otel_attrib.analytics.blocks import Counts, block_ids
from otel_attrib.analytics.columns import Flags
from otel_attrib.analytics.copies import WEIGHT, rows_kept, weights_of
from otel_attrib.analytics.metric import OUTSIDE, Metric
from otel_attrib.analytics.period import Period

__all__ = ["counts_of", "scaled_counts", "weighed_counts"]

TOKENS_EXPECTED = {"ttft": 1, "tpot": 2, "tbt": 2, "e2e": 0}
"""The output tokens from which on a successful request should carry the metric."""


def counts_of(period: Period, metric: Metric) -> Counts:
    """Return the counts of the whole window where they came with it, else those of its table."""
    return period.counts or _count(period, metric)


def weighed_counts(period: Period, metric: Metric, level: float) -> Counts:
    """Return `counts_of` with how many values a stored one at or above the quantile stands for."""
    counts = counts_of(period, metric)
    if WEIGHT not in period.requests.column_names or not period.rows.n:
        return counts
    values, weights = period.rows.values, weights_of(period.requests)
    mine = weights[period.rows.cluster] if metric.name == "tbt" else weights[_measured(period, metric)]
    shown = harrell_davis.quantile(values, level) if period.displayed is None else period.displayed
    above = values >= min(shown, values.max())
    return replace(counts, each=float(above.sum() / (1 / mine[above]).sum()))


def scaled_counts(period: Period, metric: Metric, total: int) -> Counts:
    """Return the counts of a window of `total` values, of which the period holds a sample."""
    sample = _count(period, metric)
    factor = total / max(1, sample.measured)

    def up(number: int) -> int:
        return round(number * factor)

    ends = np.round(np.cumsum(sample.sizes) * factor).astype(np.int64)
    return Counts(
        requests=up(sample.requests),
        failed=up(sample.failed),
        expected=up(sample.expected),
        answered=up(sample.answered),
        prompt_tokens=up(sample.prompt_tokens),
        output_tokens=up(sample.output_tokens),
        missing=sample.missing,
        sizes=np.diff(ends, prepend=0),
        kept=sample.kept,
    )


def _count(period: Period, metric: Metric) -> Counts:
    rows, requests = period.rows, len(period.requests)
    output = _numbers(period, "output_tokens")
    ok = _equal(period, "status", "ok")
    expected = ok & (output >= TOKENS_EXPECTED[metric.name])
    measured = np.zeros(requests, dtype=np.bool_)
    measured[_measured(period, metric)] = True
    missing = 1.0 - rows.observed.mean(axis=0) if rows.n else np.zeros(len(rows.names))
    sizes = np.bincount(block_ids(rows, period.window)) if rows.n else np.zeros(0, dtype=np.int64)
    return Counts(
        requests=requests,
        failed=int(requests - ok.sum()),
        expected=int(expected.sum()),
        answered=int((expected & measured).sum()),
        prompt_tokens=int(_numbers(period, "prompt_tokens").sum()),
        output_tokens=int(output.sum()),
        missing={
            name: float(share) for name, share in zip(rows.names, missing, strict=True) if name != OUTSIDE
        },
        sizes=sizes[sizes > 0].astype(np.int64),
        kept=rows_kept(period.requests) / requests if requests else 1.0,
    )


def _measured(period: Period, metric: Metric) -> Flags:
    if metric.name == "tbt":
        lengths = pc.fill_null(pc.list_value_length(period.requests["gaps_us"]), 0)
        some: Flags = lengths.to_numpy() > 0
        return some
    name = f"{metric.name}_us"
    if name not in period.requests.column_names:
        return np.zeros(len(period.requests), dtype=np.bool_)
    there: Flags = pc.is_valid(period.requests[name]).to_numpy()
    return there


def _equal(period: Period, name: str, word: str) -> Flags:
    """Whether a column says `word`; a table without the column says it everywhere."""
    if name not in period.requests.column_names:
        return np.ones(len(period.requests), dtype=np.bool_)
    same: Flags = pc.fill_null(pc.equal(period.requests[name], word), False).to_numpy()
    return same


def _numbers(period: Period, name: str) -> np.ndarray:
    if name not in period.requests.column_names:
        return np.zeros(len(period.requests))
    numbers: np.ndarray = pc.fill_null(period.requests[name], 0).to_numpy().astype(np.float64)
    return numbers
