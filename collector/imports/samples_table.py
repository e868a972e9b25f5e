"""Import one table of counters: its rows become metrics, delivered in blocks."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import BinaryIO

from otel_attrib.collector.imports.delivery import Delivery
from otel_attrib.collector.imports.samples import Sample, export_samples, samples_of
from otel_attrib.collector.imports.samples_mapping import SampleMapping
from otel_attrib.collector.imports.table import Bad, rows
from otel_attrib.collector.signals import METRICS
from otel_attrib.errors import DataError

__all__ = ["SampleTally", "deliver_samples", "rehearse_samples"]

BATCH = 20_000
_NAMED = 5


@dataclass(slots=True)
class SampleTally:
    """What became of every row and value; `metrics` and `unknown` count values with and without a rule."""

    rows: int = 0
    imported: int = 0
    refused: int = 0
    bad: int = 0
    named: list[Bad] = field(default_factory=list)
    metrics: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    nodes: set[str] = field(default_factory=set)
    devices: set[tuple[str, str]] = field(default_factory=set)
    first_ns: int | None = None
    last_ns: int | None = None

    def add_bad(self, row: Bad) -> None:
        """Count what cannot be used; the first few are kept to be named."""
        self.bad += 1
        if len(self.named) < _NAMED:
            self.named.append(row)

    def add(self, sample: Sample) -> None:
        """Count a good value."""
        (self.metrics if sample.known else self.unknown)[sample.metric] += 1
        self.nodes.add(sample.node)
        if sample.device:
            self.devices.add((sample.node, sample.device))
        self.first_ns = sample.ns if self.first_ns is None else min(self.first_ns, sample.ns)
        self.last_ns = sample.ns if self.last_ns is None else max(self.last_ns, sample.ns)


def deliver_samples(
    stream: BinaryIO,
    mapping: SampleMapping,
    to: Delivery,
    advance: Callable[[int], None] = lambda rows: None,
) -> SampleTally:
    """Send every good value; `advance` hears how many rows were dealt with since it was last called."""
    tally, told = SampleTally(), 0
    every = _samples(stream, mapping, tally)
    while batch := list(islice(every, BATCH)):
        refused = to.send(METRICS, export_samples(batch))
        tally.refused += refused
        tally.imported += len(batch) - refused
        advance(tally.rows - told)
        told = tally.rows
    to.finish()
    return tally


def rehearse_samples(stream: BinaryIO, mapping: SampleMapping, strict: bool) -> SampleTally:
    """Read the whole table without sending anything; with `strict` the first bad value is a `DataError`."""
    tally = SampleTally()
    for _ in _samples(stream, mapping, tally):
        pass
    if strict and tally.bad:
        first = tally.named[0]
        raise DataError(f"line {first.line}: {first.reason} ({tally.bad:,} bad; nothing imported)")
    return tally


def _samples(stream: BinaryIO, mapping: SampleMapping, tally: SampleTally) -> Iterator[Sample]:
    for row in rows(stream):
        tally.rows += 1
        if isinstance(row, Bad):
            tally.add_bad(row)
            continue
        try:
            found = list(samples_of(row, mapping))
        except ValueError as fault:
            tally.add_bad(Bad(row.line, str(fault)))
            continue
        for sample in found:
            if isinstance(sample, Bad):
                tally.add_bad(sample)
            else:
                tally.add(sample)
                yield sample
