"""The frame that the metric-based methods (BARO, N-Sigma, CIRCA) read: one column a series, one row a second.

Columns are `service_metric`, as their authors' own data have it. Services are devices, hosts and engines;
metrics are counters and the mean time of each stage. Gaps hold the last value, as in their data.
"""

from typing import Any

import numpy as np

from benchmarks.attribution.peers.counter_series import read_series
from otel_attrib.analytics.columns import Floats, Ints
from otel_attrib.analytics.period import Period

__all__ = ["LATENCY", "frame_of", "meaning"]

LATENCY = "fleet_latency"
STEP_US = 5_000_000
BASELINE_PART = 1_000_000_000  # the boundary: rows before it are the baseline's


def frame_of(baseline: Period, current: Period, by_place: bool = True) -> tuple[Any, int]:
    """Return a pandas frame with a `time` column in seconds, and the time at which the current window starts.

    Baseline and current are put end to end. `by_place` keeps devices apart; else counters are averaged.
    """
    import pandas as pd

    parts = [_columns(period, by_place) for period in (baseline, current)]
    names = sorted(parts[0].keys() & parts[1].keys())
    joined = {name: np.concatenate([part[name] for part in parts]) for name in names}
    boundary = next(iter(parts[0].values())).size
    frame = pd.DataFrame(joined).ffill().bfill().fillna(0.0)
    frame.insert(0, "time", np.arange(len(frame)))
    return frame, boundary


def meaning(column: str) -> str:
    """Return the counter's or stage's name in a column's name."""
    return column.split("_", 1)[1].replace("-", "_")


def _columns(period: Period, by_place: bool) -> dict[str, Floats]:
    bounds = period.window.bounds_us()
    edges = np.arange(bounds["from_us"], bounds["to_us"] + 1, STEP_US)
    rows = period.rows
    columns = {
        f"engine_{name.replace('_', '-')}": _binned(rows.time_us, rows.parts[:, k], edges)
        for k, name in enumerate(rows.names[:-1])
        if rows.observed[:, k].any()
    }
    columns[LATENCY] = _binned(rows.time_us, rows.values, edges)
    grouped: dict[str, list[Floats]] = {}
    for series in read_series(period.samples).values():
        place = f"{series.node}:{series.device}".replace("_", "-") if by_place else "fleet"
        name = f"{place}_{series.counter.key.replace('_', '-')}"
        grouped.setdefault(name, []).append(_binned(series.time_us, series.values, edges))
    with np.errstate(invalid="ignore"):
        columns |= {name: _mean(binned) for name, binned in grouped.items()}
    return columns


def _mean(binned: list[Floats]) -> Floats:
    stack = np.vstack(binned)
    known = ~np.isnan(stack)
    total = np.where(known, stack, 0.0).sum(axis=0)
    counts = known.sum(axis=0)
    mean: Floats = np.where(counts > 0, total / np.maximum(counts, 1), np.nan)
    return mean


def _binned(time_us: Ints, values: Floats, edges: Ints) -> Floats:
    slots = np.clip(np.searchsorted(edges, time_us, side="right") - 1, 0, edges.size - 2)
    sums = np.bincount(slots, weights=values, minlength=edges.size - 1)
    counts = np.bincount(slots, minlength=edges.size - 1)
    binned: Floats = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return binned
