"""What cards, links and hosts did in a window, beside the same places just before.

Places are those that served the chosen requests: their cards and hosts. A total is told as its rate, since
windows differ in length. `z` is how far a place is from the others at the same time and from itself before,
the smaller of the two where they agree, 0 where they do not: what was so before, or is so everywhere, does
not stand out. One deviation is the robust spread of the places; against before alone a tenth of the level.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isnan
from typing import Any

import numpy as np

from otel_attrib.analytics.evidence.series import Readings, one_source, read_series
from otel_attrib.analytics.filters import EVERY_REQUEST, Filter
from otel_attrib.analytics.join.controls import rates, scale_of
from otel_attrib.analytics.join.fetch import fetch_samples
from otel_attrib.analytics.join.joined import join
from otel_attrib.analytics.join.places import Place, devices_of, engine_of, uuids
from otel_attrib.analytics.join.sensors import missing_of
from otel_attrib.analytics.join.stretches import Stretch
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.context_counters import EVERY_COUNTER
from otel_attrib.schema.counters import Counter
from otel_attrib.schema.store import Store

__all__ = ["PlaceLine", "WindowEvidence", "window_evidence"]

SCHEMA = "otel-attrib/evidence/1"
MARGIN_US = 15_000_000
ENGINES_MOST = 4096
LEAST_PLACES = 3
USUAL_CHANGE = 0.1


@dataclass(frozen=True, slots=True)
class PlaceLine:
    """One counter at one place: its rate (a gauge's mean) in the window and just before, None: not known."""

    counter: Counter
    node: str
    device: str
    value: float
    before: float | None
    others: float | None
    z: float | None
    coverage: float

    @property
    def badness(self) -> float:
        """Return how far it is on the counter's bad side of the other places; 0 where it has no bad side."""
        return (self.z or 0.0) * self.counter.bad

    @property
    def place(self) -> str:
        """Write where it is."""
        return f"{self.node}:{self.device}" if self.device else self.node

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        said = asdict(self)
        counter = said.pop("counter")
        told = {name: counter[name] for name in ("metric", "unit", "kind", "layer", "meaning")}
        return {"counter": self.counter.key, **told, **said}


@dataclass(frozen=True)
class WindowEvidence:
    """Every counter of every place, the one that stands out most first."""

    window: Window
    where: Filter
    engines: int
    nodes: tuple[str, ...]
    lines: tuple[PlaceLine, ...]
    missing: Mapping[str, tuple[str, ...]]
    samples: int

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "schema": SCHEMA,
            "window": str(self.window),
            "where": self.where.as_dict(),
            "engines": self.engines,
            "nodes": list(self.nodes),
            "samples": self.samples,
            "missing": {layer: list(keys) for layer, keys in self.missing.items()},
            "counters": [line.as_dict() for line in self.lines],
        }


def window_evidence(store: Store, window: Window, where: Filter = EVERY_REQUEST) -> WindowEvidence:
    """Join the cards and hosts that served the chosen requests of a window with their counters."""
    bounds = window.bounds_us()
    asked = {**bounds, **where.parameters(), "most": ENGINES_MOST}
    engines = [engine_of(row) for row in store.rows(statement("join_engines", where=where.sql()), asked)]
    nodes = tuple(sorted({host for engine in engines for host in engine.hosts if host}))
    length = bounds["to_us"] - bounds["from_us"]
    now = Stretch("window", bounds["from_us"], bounds["to_us"])
    earlier = Stretch("before", bounds["from_us"] - length, bounds["from_us"])
    samples = [fetch_samples(store, nodes, [stretch], MARGIN_US) for stretch in (now, earlier)]
    readings = one_source(*(read_series(table, EVERY_COUNTER)[0] for table in samples))
    named = uuids(samples[0])
    known = devices_of(readings[0])
    cards = {place for engine in engines for place in engine.cards(known, named)[0]}
    places = sorted({*cards, *((node, "") for node in nodes)})
    before = {(line[0].key, line[1]): line[2] for line in _measured(readings[1], places, earlier)}
    lines = tuple(_lines(list(_measured(readings[0], places, now)), before))
    return WindowEvidence(
        window=window,
        where=where,
        engines=len(engines),
        nodes=nodes,
        lines=tuple(sorted(lines, key=_order)),
        missing=missing_of({line.counter.key for line in lines}),
        samples=samples[0].num_rows,
    )


_Line = tuple[Counter, Place, float, float]


def _measured(readings: Readings, places: Sequence[Place], stretch: Stretch) -> Iterable[_Line]:
    """Return counter, place, rate and coverage of what is known."""
    bounds = np.array([stretch.start_us], dtype=np.int64), np.array([stretch.end_us], dtype=np.int64)
    length = np.array([float(stretch.length_us)])
    for joined in join(readings, places, *bounds):
        rate = float(rates(joined.counter, joined.measured.value, length)[0])
        if not isnan(rate):
            yield joined.counter, joined.place, rate, float(joined.measured.coverage[0])


def _lines(found: Sequence[_Line], before: Mapping[tuple[str, Place], float]) -> Iterable[PlaceLine]:
    """Set each place beside the others of its counter."""
    by_counter: dict[str, list[float]] = {}
    for counter, _, rate, _ in found:
        by_counter.setdefault(counter.key, []).append(rate)
    for counter, place, rate, coverage in found:
        group = by_counter[counter.key]
        enough = len(group) >= LEAST_PLACES
        middle = float(np.median(group)) if enough else None
        old = before.get((counter.key, place))
        yield PlaceLine(counter, *place, rate, old, middle, _deviation(counter, rate, old, group), coverage)


def _deviation(counter: Counter, rate: float, old: float | None, group: Sequence[float]) -> float | None:
    """Return how far a place is from what it was and from the others, where both are known from both."""
    found = []
    if len(group) >= LEAST_PLACES:
        middle = float(np.median(group))
        found.append((rate - middle) / scale_of(counter, middle, group))
    if old is not None:
        found.append((rate - old) / max(scale_of(counter, old), USUAL_CHANGE * abs(old)))
    if not found or min(found) < 0 < max(found):
        return 0.0 if found else None
    return min(found, key=abs)


def _order(line: PlaceLine) -> tuple[float, float, str, str, str]:
    """The place that stands out most first, for the worse before for the better; equals by name."""
    return (-line.badness, -abs(line.z or 0.0), line.counter.key, line.node, line.device)
