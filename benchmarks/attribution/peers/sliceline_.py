"""SliceLine: the slice of requests with the largest errors for its size.

Sagadeeva and Boehm (2021), "SliceLine: fast, linear-algebra-based slice finding for ML model debugging",
SIGMOD; the package `sliceline`. A request's error is 1 where it is slower than the baseline's quantile.
"""

import numpy as np

from benchmarks.attribution.peers.answer import Answer
from benchmarks.attribution.peers.attributes import layer_of, useful_dimensions
from otel_attrib.analytics.period import Period

__all__ = ["answer"]


def answer(baseline: Period, current: Period, level: float) -> Answer:
    """Name the best slice, and the layer that its first attribute stands for."""
    from sliceline.slicefinder import Slicefinder

    rows = current.rows
    slow = rows.values > np.quantile(baseline.rows.values, level)
    dimensions = useful_dimensions(rows)
    if not slow.any() or not dimensions:
        return Answer(None, note="no slow requests, or no attributes")
    table = np.column_stack([dim.codes for dim in dimensions.values()])
    finder = Slicefinder(alpha=0.95, k=1, max_l=2, min_sup=max(10, rows.n // 100), verbose=False)
    finder.fit(table, slow.astype(np.float64))
    if not len(finder.top_slices_):
        return Answer(None, note="no slice")
    said = zip(dimensions.items(), finder.top_slices_[0], strict=True)
    where = {name: dim.labels[int(code)] for (name, dim), code in said if code is not None}
    score = float(finder.top_slices_statistics_[0]["slice_score"])
    layer = layer_of(where)
    return Answer(layer, max(0.0, score / (1 + abs(score))), guess=layer, where=where)
