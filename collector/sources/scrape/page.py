"""From a page to readings: each sample's series is made once, then known by the sample's own text."""

import math
import re
from collections.abc import Callable, Iterable
from collections.abc import Mapping as Table
from dataclasses import dataclass
from typing import Final

from otel_attrib.collector.agent.source import Reading, Series
from otel_attrib.collector.sources.claims import claimed
from otel_attrib.collector.sources.scrape.mapping import Fold, Mapping, Metric
from otel_attrib.collector.sources.scrape.samples import Sample, labels, samples

__all__ = ["LATE_S", "Page", "recognised"]

LATE_S: Final = 60.0
"""A sample whose own timestamp is older than this, or as far ahead, is left out."""

_MOST_SERIES: Final = 20_000
_FOLDS: Final[Table[Fold, Callable[[float, float], float]]] = {
    "sum": lambda one, other: one + other,
    "max": max,
    "min": min,
}


def recognised(page: str, mappings: Iterable[Mapping]) -> tuple[Mapping, ...]:
    """Return the mappings whose metrics are on this page."""
    return tuple(
        each
        for each in mappings
        if any(page.startswith(start) or f"\n{start}" in page for start in each.recognised)
    )


@dataclass(frozen=True, slots=True)
class _Take:
    """One series that a sample says something of."""

    series: Series
    value: Callable[[float], float | None]
    fold: Fold


class Page:
    """The readings of one exporter's page, read again and again."""

    def __init__(self, mappings: Iterable[Mapping], attributes: Table[str, str] | None = None) -> None:
        """Read by these mappings; series that are no card's have `attributes` too."""
        self.kinds = tuple(each.kind for each in mappings)
        self.unknown = 0
        """Samples of the last page that no mapping declares."""
        self.late = 0
        """Samples of the last page that were too old by their own timestamp."""
        self.yielded = 0
        """Readings of the last page that a better source gives."""
        self._metrics: dict[str, list[tuple[Mapping, Metric]]] = {}
        for each in mappings:
            for name, metrics in each.metrics.items():
                self._metrics.setdefault(name, []).extend((each, metric) for metric in metrics)
        self._attributes = dict(attributes or {})
        self._takes: dict[str, tuple[_Take, ...]] = {}
        self._series: dict[tuple[str, str, tuple[tuple[str, str], ...]], Series] = {}
        self._stamps: dict[str, float] = {}

    def readings(self, page: str, now_s: float, stamp_ms: float = 1.0) -> list[Reading]:
        """Return what this page says at `now_s`, without what a better source gives."""
        self._forget()
        values: dict[Series, float] = {}
        self.late = taken = 0
        for sample in samples(page, self._metrics, stamp_ms, self._takes):
            taken += 1
            if sample.stamp is not None and not self._new(sample, now_s):
                continue
            for take in self._takes.get(sample.head) or self._learn(sample):
                value = take.value(sample.value)
                if value is not None:
                    before = values.get(take.series)
                    values[take.series] = value if before is None else _FOLDS[take.fold](before, value)
        self.unknown = _sample_count(page) - taken
        given = [
            (series, value)
            for series, value in values.items()
            if not (series.device and claimed(series.counter.key))
        ]
        self.yielded = len(values) - len(given)
        return given

    def _forget(self) -> None:
        """Let go of what is known of samples before it grows without end: labels may be new at every read."""
        if len(self._takes) > _MOST_SERIES:
            for known in (self._takes, self._stamps, self._series):
                known.clear()

    def _new(self, sample: Sample, now_s: float) -> bool:
        """Return whether a sample with a timestamp is of now and was not given before."""
        stamp = sample.stamp or 0.0
        if abs(now_s - stamp / 1000) > LATE_S:
            self.late += 1
            return False
        before = self._stamps.get(sample.head)
        self._stamps[sample.head] = stamp
        return before is None or stamp > before

    def _learn(self, sample: Sample) -> tuple[_Take, ...]:
        """Make the series of a sample that was not seen before, none for one that is left out."""
        named = labels(sample.head)
        takes = tuple(
            take for rules, metric in self._metrics[sample.name] for take in self._made(rules, metric, named)
        )
        self._takes[sample.head] = takes
        return takes

    def _made(self, rules: Mapping, metric: Metric, named: dict[str, str]) -> Iterable[_Take]:
        if any(named.get(label, values[0]) not in values for label, values in metric.where.items()):
            return
        if any(not named.get(label) for label in metric.must):
            return
        device = _device(rules, named)
        if metric.counter.per_device and not device:
            return
        attributes = {key: named[label] for key, label in metric.attributes.items() if named.get(label)}
        attributes |= metric.fixed
        if not metric.counter.per_device:
            attributes |= self._attributes
        for value, of in _values(rules, metric):
            more = {metric.attribute: value} if value else {}
            yield _Take(self._one(metric, device, attributes | more), of, metric.fold)

    def _one(self, metric: Metric, device: str, attributes: dict[str, str]) -> Series:
        on = device if metric.counter.per_device else ""
        key = (metric.counter.key, on, tuple(sorted(attributes.items())))
        if key not in self._series:
            self._series[key] = Series(metric.counter, on, key[2])
        return self._series[key]


def _device(rules: Mapping, named: dict[str, str]) -> str:
    if not rules.device:
        return ""
    found = re.fullmatch(rules.device_pattern, named.get(rules.device, ""))
    card = found[1] if found else ""
    part = named.get(rules.part, "") if rules.part else ""
    return f"{card}:{part}" if card and part else card


def _values(rules: Mapping, metric: Metric) -> Iterable[tuple[str, Callable[[float], float | None]]]:
    """Yield each series' own value of `attribute` (empty: it has none) and what makes its number."""

    def missing(value: float) -> bool:
        blank = any(low <= value <= high for low, high in rules.absent)
        return not math.isfinite(value) or blank or value in metric.absent

    def scaled(value: float) -> float | None:
        return None if missing(value) else value * metric.factor

    def bit(mask: int) -> Callable[[float], float | None]:
        return lambda value: None if missing(value) else float(bool(int(value) & mask))

    def state(numbers: tuple[float, ...]) -> Callable[[float], float | None]:
        return lambda value: None if missing(value) else float(value in numbers)

    if metric.bits:
        return [(value, bit(mask)) for value, mask in metric.bits.items()]
    if metric.states:
        return [(value, state(numbers)) for value, numbers in metric.states.items()]
    return [("", scaled)]


def _sample_count(page: str) -> int:
    """Return how many lines are neither comments nor empty."""
    lines = page.count("\n") + (not page.endswith("\n"))
    return lines - page.count("\n#") - page.startswith("#") - page.count("\n\n")
