"""The path over a whole window of which only a sample and the upper rows are at hand.

The maps and sizes come from the sample; the path itself is walked over every row of the window that can
matter. Rows left in the store have totals under the floor at both ends of the path, hence on all of it.

Certificate: enough of the rows at hand stay at or above the floor all along the path that every rank which
weighs on the quantile is theirs. Then the stages are those of all rows, for these maps.
"""

from dataclasses import dataclass, replace

import numpy as np

from otel_attrib.analytics import harrell_davis
from otel_attrib.analytics.change.decompose import Change, same_stages
from otel_attrib.analytics.change.path import SAME, Path, walk
from otel_attrib.analytics.columns import Floats, Rows

__all__ = ["UpperRows", "over_whole"]


@dataclass(frozen=True)
class UpperRows:
    """Every row of a window of `rows.total` whose total, as it is or repaired, can reach `floor_ms`."""

    rows: Rows
    floor_ms: float


def over_whole(
    change: Change, baseline: Rows, current: Rows, upper: UpperRows, level: float
) -> Change | None:
    """Return the change with its path walked over the whole window, or None without the certificate.

    `baseline` and `current` are the samples that `change` came from. The difference to the sample's path
    goes to `unexplained`, so the lines still add up; variances stay the sample's.
    """
    baseline, compared = same_stages(baseline, current)
    unseen = [name for k, name in enumerate(compared.names[:-1]) if not compared.observed[:, k].any()]
    rows = upper.rows.fold(unseen) if unseen else upper.rows
    path = _certified_path(change.back.restore(rows), rows, upper.floor_ms, level)
    # Another number was displayed: rows arrived meanwhile, or it came from a sketch.
    if path is None or not np.isclose(path.after, change.after.value, rtol=1e-9):
        return None
    return _rewritten(change, dict(zip(rows.names, path.stages, strict=True)))


def _certified_path(repaired: Floats, rows: Rows, floor_ms: float, level: float) -> Path | None:
    totals = repaired.sum(axis=1), rows.values
    smaller, larger = np.minimum(*totals), np.maximum(*totals)
    below = rows.total - rows.n
    first, last = (rank - below for rank in harrell_davis.rank_window(rows.total, level))
    if below < 0 or not 0 < first <= last <= rows.n:
        return None
    low = float(np.partition(smaller, first - 1)[first - 1])
    high = float(np.partition(larger, last - 1)[last - 1])
    if low < floor_ms:
        return None
    margin = SAME * high
    under, over = larger < low - margin, smaller > high + margin
    near = ~(under | over)
    above = int(over.sum())
    return walk(repaired[near], rows.parts[near], level, rows.total - int(near.sum()) - above, above)


def _rewritten(change: Change, stages: dict[str, float]) -> Change:
    lines = {name: replace(line, value=float(stages[name])) for name, line in change.stages.items()}
    told = sum(line.value for line in lines.values()) + change.workload.value
    unexplained = replace(change.unexplained, value=change.delta.value - told)
    return replace(change, stages=lines, unexplained=unexplained)
