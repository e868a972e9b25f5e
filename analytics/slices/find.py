"""From the rows of two windows to the slices that got slower."""

from dataclasses import replace

import numpy as np

from otel_attrib.analytics.columns import Rows
from otel_attrib.analytics.exceedance import fit_cells, work_of
from otel_attrib.analytics.slices.found import Slices
from otel_attrib.analytics.slices.leaves import leaves_of_rows
from otel_attrib.analytics.slices.scan import scan

__all__ = ["find_slices"]


def find_slices(baseline: Rows, current: Rows, level: float) -> Slices:
    """Return where the rows of `current` exceed the baseline's limits more than before.

    A slice counts requests, also where a row is one of a request's gaps.
    """
    cells = fit_cells(work_of(baseline), baseline.values, level)
    seen = scan(leaves_of_rows(baseline, current, cells), level)
    hit = np.full(current.n, True) if seen.global_ else seen.inside[baseline.n :]
    slices = tuple(
        replace(found, requests=np.unique(current.cluster[members[baseline.n :]]).size)
        for found, members in zip(seen.slices, seen.members, strict=True)
    )
    return Slices(slices, seen.global_, hit, seen.complement_share, seen.excess)
