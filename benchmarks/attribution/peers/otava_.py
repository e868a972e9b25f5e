"""Apache Otava: change points of the quantile over time (Hunter, e-divisive with a t-test). Detection only.

Fleming et al. (2023), "Hunter: using change point detection to hunt for performance regressions", ICPE.
"""

import numpy as np

from benchmarks.attribution.peers.answer import Answer
from otel_attrib.analytics.columns import Floats
from otel_attrib.analytics.period import Period

__all__ = ["answer"]

SLICES = 20


def _series(period: Period, level: float) -> Floats:
    bounds = period.window.bounds_us()
    edges = np.linspace(bounds["from_us"], bounds["to_us"], SLICES + 1)
    slots = np.clip(np.searchsorted(edges, period.rows.time_us, side="right") - 1, 0, SLICES - 1)
    values = [period.rows.values[slots == slot] for slot in range(SLICES)]
    return np.array([np.quantile(part, level) for part in values if part.size >= 20])


def answer(baseline: Period, current: Period, level: float) -> Answer:
    """Say whether the quantile stepped up; it names no layer."""
    from otava.analysis import compute_change_points

    before, after = _series(baseline, level), _series(current, level)
    points, _ = compute_change_points([*before.tolist(), *after.tolist()], window_len=30, max_pvalue=0.001)
    rises = [p for p in points if p.stats.mean_2 > p.stats.mean_1 and p.index >= before.size - 2]
    return Answer(None, float(len(rises) > 0), detected=bool(rises), note=f"{len(points)} change points")
