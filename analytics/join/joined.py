"""All counters of some places over stretches of time.

Series of one counter and place are added or averaged by `schema.counter_rules`; of several sources one is
taken. A place whose clock is not the stretches' own is measured with the slack of both clocks, and not at all
where that is unknown or a quarter of the stretch or more: what cannot be placed is left out.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics.columns import Flags, Floats, Ints
from otel_attrib.analytics.evidence.series import Readings
from otel_attrib.analytics.join.measure import Measured, increase, level
from otel_attrib.analytics.join.places import Place
from otel_attrib.schema.context_counters import EVERY_COUNTER
from otel_attrib.schema.counter_rules import MEANS, PASSING, summed, wraps
from otel_attrib.schema.counters import Counter

__all__ = ["LEAST_LENGTHS", "Joined", "join"]

LEAST_LENGTHS = 4.0
"""A stretch is claimed only where it is so many times as long as the clocks are uncertain."""

Slack = Callable[[str], float | None]


@dataclass(frozen=True, slots=True)
class Joined:
    """One counter of one place: (k,) what it was in each stretch; `series` (k,) is of how many."""

    counter: Counter
    place: Place
    measured: Measured
    series: Ints
    slack_us: float


def join(
    readings: Readings, places: Collection[Place], start: Ints, end: Ints, slack: Slack = lambda node: 0.0
) -> list[Joined]:
    """Measure every counter of `places` in (k,) stretches; `readings` come from `read_series(EVERY_COUNTER)`.

    `slack` says how far a node's clock may be from that of the stretches (µs), None where nobody knows.
    """
    found = []
    for code, counter in enumerate(EVERY_COUNTER):
        mine = readings.of(code)
        if mine.size:
            found += _of_counter(counter, _believed(mine, counter), set(places), (start, end), slack)
    return found


def _believed(readings: Readings, counter: Counter) -> Readings:
    """Return the readings without those that are no measurement."""
    good = np.isfinite(readings.value) & (readings.value >= 0)
    if counter.kind == "gauge":
        good &= readings.value <= counter.most
    return readings if good.all() else readings.take(good)


def _of_counter(
    counter: Counter, mine: Readings, places: set[Place], stretches: tuple[Ints, Ints], slack: Slack
) -> list[Joined]:
    if not mine.size:
        return []
    _, first = mine.series()
    bounds = np.append(first, mine.size)
    by_place: dict[Place, list[Measured]] = {}
    known: dict[str, float | None] = {}
    for left, right in zip(bounds[:-1], bounds[1:], strict=True):
        device = mine.devices[mine.device[left]] if counter.per_device else ""
        place = (mine.nodes[mine.node[left]], device)
        if place in places:
            apart = known.setdefault(place[0], slack(place[0]))
            if apart is not None:
                series = mine.time_us[left:right], mine.value[left:right]
                by_place.setdefault(place, []).append(_measured(counter, series, stretches, apart))
    return [
        Joined(counter, place, _combined(counter, series, stretches), _known(series), known[place[0]] or 0.0)
        for place, series in sorted(by_place.items())
    ]


def _known(series: Sequence[Measured]) -> Ints:
    return np.asarray(np.sum([~np.isnan(each.value) for each in series], axis=0), dtype=np.int64)


def _measured(
    counter: Counter, series: tuple[Ints, Floats], stretches: tuple[Ints, Ints], slack: float
) -> Measured:
    if counter.kind == "total":
        found = increase(*series, *stretches, wraps(counter), slack)
    else:
        found = level(*series, *stretches, counter.key in MEANS, slack)
    return found if not slack else _placed(found, (stretches[1] - stretches[0]) >= LEAST_LENGTHS * slack)


def _placed(found: Measured, long_enough: Flags) -> Measured:
    """Take away what is shorter than the clocks allow to be placed."""
    columns = (np.where(long_enough, column, np.nan) for column in (found.value, found.low, found.high))
    value, low, high = columns
    return Measured(value, low, high, np.where(long_enough, found.coverage, 0.0))


def _combined(counter: Counter, series: Sequence[Measured], stretches: tuple[Ints, Ints]) -> Measured:
    """Add or average what is known of the series; the coverage is that of the best."""
    if len(series) == 1:
        return _capped(counter, series[0], stretches)
    known = np.array([~np.isnan(each.value) for each in series])
    parts = np.maximum(known.sum(axis=0), 1) if not summed(counter) else 1
    value, low = (
        np.where(
            known.any(axis=0), np.nansum([getattr(each, name) for each in series], axis=0) / parts, np.nan
        )
        for name in ("value", "low")
    )
    # One series without an upper bound leaves the sum without one.
    open_ended = (known & np.isnan([each.high for each in series])).any(axis=0)
    high = np.where(open_ended, np.nan, np.nansum([each.high for each in series], axis=0) / parts)
    high = np.where(known.any(axis=0), high, np.nan)
    coverage = np.asarray(np.max([each.coverage for each in series], axis=0))
    return _capped(counter, Measured(value, low, high, coverage), stretches)


def _capped(counter: Counter, found: Measured, stretches: tuple[Ints, Ints]) -> Measured:
    """Return what can be: shares of several reasons may add up to more than 1, times to more than passed."""
    if counter.kind == "total" and counter.key not in PASSING:
        return found
    most = counter.most if counter.kind == "gauge" else (stretches[1] - stretches[0]) / 1e6
    value, low, high = (np.minimum(each, most) for each in (found.value, found.low, found.high))
    return Measured(value, low, high, found.coverage)
