"""Which requests got slower: conditional exceedances scanned over every slice up to three conditions.

`find_slices(baseline, current, level)` takes rows; `scan(leaves, level)` takes leaf counts, which is all
that a store has to give up for any number of requests.
"""

from otel_attrib.analytics.slices.find import find_slices
from otel_attrib.analytics.slices.found import Slice, Slices
from otel_attrib.analytics.slices.leaves import Leaves
from otel_attrib.analytics.slices.scan import Scan, scan

__all__ = ["Leaves", "Scan", "Slice", "Slices", "find_slices", "scan"]
