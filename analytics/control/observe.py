"""What the threshold loop looks at, from the store: the quantiles of the last periods and their median.

Numbers come from the 10 s states, within 1 % of the value at their rank; an objective on a dimension that
states do not keep apart is read from the requests themselves.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median

from otel_attrib.analytics.control.decide import measured
from otel_attrib.analytics.control.observed import Day, Observed
from otel_attrib.analytics.control.rule import ThresholdRule
from otel_attrib.analytics.filters import Filter
from otel_attrib.analytics.metric import metric_named
from otel_attrib.analytics.quantiles import Sliding, slide
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.store import Store

__all__ = ["LAG_S", "Seen", "last_end", "look"]

LAG_S = 30
"""How long after its end a period is judged, so that its requests are stored."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Every period of the long look back, oldest first, empty ones too; and their median."""

    periods: tuple[Observed, ...]
    day: Day


def last_end(rule: ThresholdRule, now: datetime, lag_s: int = LAG_S) -> datetime:
    """Return the end of the newest period that is over, and whose requests had `lag_s` to be stored.

    Periods begin at whole multiples of their length since 1970.
    """
    whole = int(now.timestamp() - lag_s) // rule.period_s * rule.period_s
    return datetime.fromtimestamp(whole, UTC)


def look(store: Store, rule: ThresholdRule, metric: str, level: float, where: Filter, end: datetime) -> Seen:
    """Observe what ends at `end`, the end of a period."""
    day = Window(end - timedelta(seconds=rule.day_s), end)
    length, exact = rule.period_s, not where.rolled_up
    asked = Sliding(metric_named(metric), level, length, length, day, (), where, exact)
    found = {point.end: point for point in slide(store, asked)}
    ends = [day.start + timedelta(seconds=rule.period_s * k) for k in range(1, rule.day_periods + 1)]
    periods = tuple(
        Observed(at, found[at].n, found[at].ms) if at in found else Observed(at, 0, None) for at in ends
    )
    known = [p.ms for p in periods if p.ms is not None and measured(rule, level, p)]
    middle = median(known) if known else None
    return Seen(periods, Day(sum(p.n for p in periods), middle, len(known), rule.day_periods))
