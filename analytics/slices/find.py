"""From the rows of two windows to the slices that got slower."""

import numpy as np

from otel_attrib.analytics.columns import Rows
from otel_attrib.analytics.exceedance import fit_cells, work_of
from otel_attrib.analytics.slices.found import Slices
from otel_attrib.analytics.slices.leaves import leaves_of_rows
from otel_attrib.analytics.slices.scan import scan

__all__ = ["find_slices"]


def find_slices(baseline: Rows, current: Rows, level: float) -> Slices:
    """Return where the rows of `current` exceed the baseline's limits more than before."""
    cells = fit_cells(work_of(baseline), baseline.values, level)
    seen = scan(leaves_of_rows(baseline, current, cells), level)
    hit = np.full(current.n, True) if seen.global_ else seen.inside[baseline.n :]
    return Slices(seen.slices, seen.global_, hit, seen.complement_share, seen.excess)
