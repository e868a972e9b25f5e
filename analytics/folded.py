"""Both windows with the same stages: what one of them hardly observed is counted into `outside` of both."""

from dataclasses import replace

from otel_attrib.analytics.counted import counts_of
from otel_attrib.analytics.metric import Metric
from otel_attrib.analytics.notes import changed_coverage
from otel_attrib.analytics.period import Period

__all__ = ["fold_pair"]


def fold_pair(baseline: Period, current: Period, metric: Metric) -> tuple[Period, Period]:
    """Fold the stages whose coverage changed; the periods are returned as they are where none did."""
    folded = changed_coverage(counts_of(baseline, metric), counts_of(current, metric))
    if not folded:
        return baseline, current
    before, after = (replace(period, rows=period.rows.fold(folded)) for period in (baseline, current))
    return before, after
