"""What is usual: the same devices before, and other engines of the same model at the same time.

Totals are compared as rates, so a stage that took ten times as long is held against what would have been
usual in as long a time. `z` is the distance from the controls' median in robust deviations (1.4826 MAD, and
never less than 2 % of the level or the counter's own floor). Set against both, the smaller of the two counts,
and none where they disagree: what was so before, or is so everywhere, is not this request's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics.columns import Floats
from otel_attrib.analytics.evidence.contrast import FLOORS, RELATIVE_FLOOR
from otel_attrib.schema.counters import Counter

__all__ = ["LEAST_BEFORE", "Control", "agreed", "control", "rates", "scale_of"]

LEAST_BEFORE = 5
NORMAL = 1.4826


@dataclass(frozen=True, slots=True)
class Control:
    """The usual value (of a total: in as long a time), how far this one is from it, and of how many it is."""

    median: float
    z: float
    n: int


def rates(counter: Counter, value: Floats, length_us: Floats) -> Floats:
    """Return totals as increases a second, gauges as they are."""
    return value / (length_us / 1e6) if counter.kind == "total" else value


def scale_of(counter: Counter, level: float, *groups: Sequence[float]) -> float:
    """Return one deviation: the widest robust spread of the groups, not below what the counter can tell."""
    spreads = [NORMAL * _mad(np.asarray(group)) for group in groups if len(group)]
    floor = max(FLOORS.get(counter.key, 0.0), RELATIVE_FLOOR * abs(level), 1e-12)
    return max([floor, *spreads])


def control(
    counter: Counter, rate: float, others: Sequence[float], scale: float, length_us: float
) -> Control:
    """Return one group of controls for a rate (a level, for gauges)."""
    median = float(np.median(others))
    shown = median * length_us / 1e6 if counter.kind == "total" else median
    return Control(shown, (rate - median) / scale, len(others))


def agreed(before: Control | None, beside: Control | None) -> float | None:
    """Return the deviation that both controls agree on; that of the one there is; None without any."""
    found = [each.z for each in (before, beside) if each is not None]
    if not found:
        return None
    if min(found) < 0 < max(found):
        return 0.0
    return min(found, key=abs)


def _mad(values: Floats) -> float:
    return float(np.median(np.abs(values - np.median(values))))
