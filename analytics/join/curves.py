"""The counters of one request's cards and hosts as curves over its time, for a picture.

A gauge is shown as it was read. Of a total the rate between two readings is shown, at the later one; where
it fell (its reader began anew) there is no point. Times are ms from the request's arrival, on the clock of
the counter's node: `Finding.clock_us` says how far that may be from the request's.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from otel_attrib.analytics.columns import Floats, Ints
from otel_attrib.analytics.evidence.series import Readings, one_source, read_series
from otel_attrib.analytics.join.fetch import fetch_samples
from otel_attrib.analytics.join.places import devices_of, engine_of, uuids
from otel_attrib.analytics.join.stretches import REQUEST, Stretch, stretches_of
from otel_attrib.schema.context_counters import EVERY_COUNTER
from otel_attrib.schema.counters import Counter
from otel_attrib.schema.store import Store

__all__ = ["request_curves"]

AROUND = 0.2  # of the request's length, before and after it
AROUND_LEAST_US = 1_000_000  # most counters are read once a second: less would often show no reading
POINTS_AT_MOST = 2_000


def request_curves(store: Store, request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return every curve with a point within the request's time ± 20 % (1 s at least)."""
    whole = next((each for each in stretches_of(request) if each.stage == REQUEST), None)
    if whole is None:
        return []
    engine = engine_of(request)
    around = max(AROUND_LEAST_US, round(AROUND * whole.length_us))
    samples = fetch_samples(store, engine.hosts, (whole,), around)
    (readings,) = one_source(read_series(samples, EVERY_COUNTER)[0])
    cards, _ = engine.cards(devices_of(readings), uuids(samples))
    places = {*cards, *((host, "") for host in engine.hosts)}
    return [
        curve
        for code, counter in enumerate(EVERY_COUNTER)
        for curve in _curves(counter, readings.of(code), places, whole)
    ]


def _curves(
    counter: Counter, mine: Readings, places: set[tuple[str, str]], whole: Stretch
) -> Iterator[dict[str, Any]]:
    if not mine.size:
        return
    bounds = [*mine.series()[1].tolist(), mine.size]
    for left, right in zip(bounds, bounds[1:], strict=False):
        node, device = mine.nodes[int(mine.node[left])], mine.devices[int(mine.device[left])]
        points = _points(counter, mine.time_us[left:right], mine.value[left:right], whole.start_us)
        if points and (node, device if counter.per_device else "") in places:
            yield {
                "counter": counter.key,
                "node": node,
                "device": device,
                "unit": counter.unit if counter.kind == "gauge" else f"{counter.unit}/s",
                "title": counter.meaning,
                "points": points,
            }


def _points(counter: Counter, time_us: Ints, value: Floats, start_us: int) -> list[list[float]]:
    if counter.kind == "total":
        passed, grown = np.diff(time_us), np.diff(value)
        kept = (passed > 0) & (grown >= 0)
        time_us, value = time_us[1:][kept], grown[kept] / (passed[kept] / 1e6)
    every = max(1, -(-time_us.size // POINTS_AT_MOST))
    told = zip(time_us[::every].tolist(), value[::every].tolist(), strict=True)
    return [[(time - start_us) / 1e3, number] for time, number in told]
