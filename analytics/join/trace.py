"""The evidence of one request: its counters by stage, beside what is usual there and what others saw then."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from otel_attrib.analytics.columns import Ints
from otel_attrib.analytics.evidence.series import Readings, one_source, read_series
from otel_attrib.analytics.join.clocks import Clocks, read_clocks
from otel_attrib.analytics.join.controls import LEAST_BEFORE, agreed, control, rates, scale_of
from otel_attrib.analytics.join.fetch import fetch_before, fetch_beside, fetch_samples
from otel_attrib.analytics.join.findings import Finding, RequestEvidence
from otel_attrib.analytics.join.joined import LEAST_LENGTHS, Joined, join
from otel_attrib.analytics.join.places import Engine, Place, devices_of, engine_of, uuids
from otel_attrib.analytics.join.sensors import missing_of
from otel_attrib.analytics.join.stretches import Stretch, stretches_of
from otel_attrib.schema.context_counters import EVERY_COUNTER
from otel_attrib.schema.store import Store

__all__ = ["request_evidence"]

BACK_US = 1_800_000_000
EARLIER_MOST = 32
AROUND_US = 30_000_000
ENGINES_MOST = 16
NEAR_US = 10_000_000
SECOND_US = 1_000_000

Rates = dict[tuple[str, str, Place], list[float]]
"""Rates of the controls by stage, counter key and place."""


@dataclass(frozen=True)
class _Own:
    """The request's side: where it was served, what was read there, and by which clocks."""

    engine: Engine
    readings: Readings
    clocks: Clocks
    cards: tuple[Place, ...]
    named: bool
    samples: int

    @property
    def places(self) -> tuple[Place, ...]:
        """Return cards and hosts."""
        return (*self.cards, *((host, "") for host in self.engine.hosts))

    def slack(self, node: str) -> float | None:
        """Return how far a node's clock may be from the request's, µs."""
        return self.clocks.between(self.engine.node, node)


def request_evidence(store: Store, request: Mapping[str, Any]) -> RequestEvidence:
    """Join one row of `requests` with the counters of its cards and hosts, and with its controls."""
    stretches = stretches_of(request)
    if not stretches:
        return _without_time(request)
    own = _own(store, request, stretches)
    found = join(own.readings, own.places, *_bounds(stretches), own.slack)
    earlier, before = _before(store, request, own)
    engines, beside = _beside(store, request, own, stretches)
    findings = [
        finding
        for joined in found
        for number, stretch in enumerate(stretches)
        if (finding := _finding(joined, number, stretch, before, beside)) is not None
    ]
    return RequestEvidence(
        node=own.engine.node,
        devices=tuple(f"{node}:{device}" for node, device in own.cards),
        named=own.named,
        stretches=stretches,
        findings=tuple(sorted(findings, key=_order)),
        missing=missing_of({finding.counter.key for finding in findings}),
        clocks={host: own.clocks.why(own.engine.node, host) for host in own.engine.hosts},
        unplaced=tuple(host for host in own.engine.hosts if own.slack(host) is None),
        too_short=_too_short(own, stretches),
        earlier=earlier,
        engines=engines,
        samples=own.samples,
    )


def _without_time(request: Mapping[str, Any]) -> RequestEvidence:
    """Return nothing of a request of which no time was observed."""
    engine = engine_of(request)
    return RequestEvidence(engine.node, (), False, (), (), missing_of(()), {}, (), {}, 0, 0, 0)


def _too_short(own: _Own, stretches: Sequence[Stretch]) -> dict[str, tuple[str, ...]]:
    """Return by node the stages in which its clock is too far off to place anything."""
    short = {
        host: tuple(
            each.stage for each in stretches if each.length_us < LEAST_LENGTHS * (own.slack(host) or 0)
        )
        for host in own.engine.hosts
    }
    return {host: stages for host, stages in short.items() if stages}


def _own(store: Store, request: Mapping[str, Any], stretches: Sequence[Stretch]) -> _Own:
    engine = engine_of(request)
    samples = fetch_samples(store, engine.hosts, stretches)
    (readings,) = one_source(read_series(samples, EVERY_COUNTER)[0])
    cards, named = engine.cards(devices_of(readings), uuids(samples))
    return _Own(engine, readings, read_clocks(samples, readings), cards, named, samples.num_rows)


def _bounds(stretches: Sequence[Stretch]) -> tuple[Ints, Ints]:
    start = np.array([stretch.start_us for stretch in stretches], dtype=np.int64)
    return start, np.array([stretch.end_us for stretch in stretches], dtype=np.int64)


def _finding(joined: Joined, number: int, stretch: Stretch, before: Rates, beside: Rates) -> Finding | None:
    """Return one row with its controls; None where the counter is not known in the stage."""
    value = float(joined.measured.value[number])
    if isnan(value):
        return None
    counter, key = joined.counter, (stretch.stage, joined.counter.key, joined.place)
    length = float(stretch.length_us)
    rate = float(rates(counter, np.array([value]), np.array([length]))[0])
    old = before.get(key, [])
    old = old if len(old) >= LEAST_BEFORE else []
    others = beside.get((stretch.stage, counter.key, ("", "device" if counter.per_device else "")), [])
    level = float(np.median(old or others)) if old or others else rate
    scale = scale_of(counter, level, old, others)
    controls = [control(counter, rate, group, scale, length) if group else None for group in (old, others)]
    return Finding(
        stage=stretch.stage,
        counter=counter,
        node=joined.place[0],
        device=joined.place[1],
        value=value,
        low=_known(joined.measured.low[number]),
        high=_known(joined.measured.high[number]),
        coverage=float(joined.measured.coverage[number]),
        clock_us=joined.slack_us,
        series=int(joined.series[number]),
        before=controls[0],
        beside=controls[1],
        z=agreed(*controls),
    )


def _known(value: float) -> float | None:
    return None if isnan(value) else float(value)


def _order(finding: Finding) -> tuple[float, float, str, str, str, str]:
    """The biggest deviation for the worse first, then the biggest at all; equals by their names."""
    names = finding.stage, finding.counter.key, finding.node, finding.device
    return (-finding.badness, -abs(finding.z or 0.0), *names)


def _before(store: Store, request: Mapping[str, Any], own: _Own) -> tuple[int, Rates]:
    """Return how many earlier requests were alike, and the rates in their stages at the same places."""
    rows = fetch_before(store, request, BACK_US, EARLIER_MOST)
    rows = [row for row in rows if row["span_id"] != request["span_id"]]
    if len(rows) < LEAST_BEFORE:
        return len(rows), {}
    pieces = [stretch for row in rows for stretch in stretches_of(row)]
    samples = fetch_samples(store, own.engine.hosts, pieces, NEAR_US)
    (readings,) = one_source(read_series(samples, EVERY_COUNTER)[0])
    found: Rates = {}
    for joined in join(readings, own.places, *_bounds(pieces), own.slack):
        for stage, rate in _rates(joined, pieces):
            found.setdefault((stage, joined.counter.key, joined.place), []).append(rate)
    return len(rows), found


def _rates(joined: Joined, stretches: Sequence[Stretch]) -> list[tuple[str, float]]:
    """Return the rate (a gauge's level) in every stretch in which the counter is known."""
    lengths = np.array([float(stretch.length_us) for stretch in stretches])
    measured = rates(joined.counter, joined.measured.value, lengths)
    return [
        (stretch.stage, float(rate))
        for stretch, rate in zip(stretches, measured, strict=True)
        if not isnan(rate)
    ]


def _beside(
    store: Store, request: Mapping[str, Any], own: _Own, stretches: Sequence[Stretch]
) -> tuple[int, Rates]:
    """Return how many other engines served the model then, and the rates at their cards and hosts.

    A host's stretch is at least a second, and as much longer as its clock may be off: the same second.
    """
    rows = fetch_beside(store, request, stretches[0], AROUND_US, ENGINES_MOST)
    engines = [engine for engine in map(engine_of, rows) if engine != own.engine]
    if not engines:
        return 0, {}
    hosts = sorted({host for engine in engines for host in engine.hosts})
    samples = fetch_samples(store, hosts, stretches)
    (readings,) = one_source(read_series(samples, EVERY_COUNTER)[0])
    clocks = Clocks({**read_clocks(samples, readings).by_node, **own.clocks.by_node})
    known, named = devices_of(readings), uuids(samples)
    cards = {place for engine in engines for place in engine.cards(known, named)[0]} - set(own.cards)
    places = cards | {(host, "") for host in set(hosts) - set(own.engine.hosts)}
    found: Rates = {}
    for node in sorted({node for node, _ in places}):
        wide = [_widened(stretch, node, own.engine.node, clocks) for stretch in stretches]
        there = [place for place in places if place[0] == node]
        for joined in join(readings, there, *_bounds(wide)):
            group = ("", "device" if joined.counter.per_device else "")
            for stage, rate in _rates(joined, wide):
                found.setdefault((stage, joined.counter.key, group), []).append(rate)
    return len(engines), found


def _widened(stretch: Stretch, node: str, home: str, clocks: Clocks) -> Stretch:
    """Return the stretch itself on one clock; on another one the second around it, and what clocks differ."""
    if node == home:
        return stretch
    more = int(clocks.between(home, node) or 0) + max(0, SECOND_US - stretch.length_us) // 2
    return Stretch(stretch.stage, stretch.start_us - more, stretch.end_us + more)
