"""Readings as OTLP export requests: what never changes is encoded once, numbers are filled in by numpy.

A gauge becomes a Gauge; a total a cumulative, monotonic Sum whose start is the agent's first sight of it, or
the reading at which it fell (a restart). Metrics of one name stand once in a request.
"""

import logging
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import NumberDataPoint
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from otel_attrib import __version__
from otel_attrib.collector.agent.readings import Layout, Readings
from otel_attrib.collector.agent.source import Series
from otel_attrib.collector.agent.starts import Starts
from otel_attrib.collector.agent.wire import PointTable, Times, field, field_head
from otel_attrib.schema.attributes import ATTRIBUTES, HW_ID, HW_TYPE
from otel_attrib.schema.context_counters import EVERY_COUNTER
from otel_attrib.schema.counters import Counter

__all__ = ["MOST_POINTS", "SCOPE", "Batch", "Encoder", "attributes_of", "descriptions"]

_log = logging.getLogger(__name__)

SCOPE = "otel_attrib.agent"
MOST_POINTS = 25_000
"""Of one request: about 2 MB, where other collectors take 4 MiB over gRPC."""

Batch = tuple[int, Readings]
"""When something was read (wall clock, ns), and what."""

Words = tuple[bytes, bytes]
"""Of a series: the beginning of its metric, and the encoded attributes of its points."""

# Field numbers: request 1, resource metrics 1 and 2, scope metrics 1 and 2, metric 1 to 3, its data 5 or 7.
_GAUGE, _SUM = 5, 7
_CUMULATIVE_MONOTONIC = b"\x10\x02\x18\x01"
_PLANS = 64
_SERIES = 20_000
_DIGITS = 18
_WHOLE = {attribute.name for attribute in ATTRIBUTES if attribute.type == "int"}


def attributes_of(series: Series) -> dict[str, str]:
    """The attributes of the points of a series: where it was read, and what tells it from its like."""
    placed = {HW_ID: series.device, HW_TYPE: "gpu"} if series.device else {}
    return placed | dict((series.counter.select,) if series.counter.select else ()) | dict(series.attributes)


def descriptions() -> dict[str, str]:
    """The meaning of each metric that only one counter has; others differ by attribute."""
    names = [counter.metric for counter in EVERY_COUNTER]
    return {each.metric: each.meaning for each in EVERY_COUNTER if names.count(each.metric) == 1}


class Encoder:
    """Makes requests of this node's readings; not to be shared between threads."""

    def __init__(self, resource: Mapping[str, str]) -> None:
        """`resource` names the node."""
        self._resource = field(1, Resource(attributes=_pairs(resource)).SerializeToString())
        self._scope = field(1, InstrumentationScope(name=SCOPE, version=__version__).SerializeToString())
        self._plans: OrderedDict[Layout, _Plan] = OrderedDict()
        self._words: dict[Series, Words] = {}
        self._starts = Starts()
        self._meanings = descriptions()

    def requests(self, batches: Sequence[Batch]) -> Iterator[tuple[bytes, int]]:
        """Each request's bytes and points, `MOST_POINTS` at most where one read has not more itself."""
        metrics: dict[bytes, list[memoryview]] = {}
        points, before = 0, None
        for layout, times, values in _columns(batches):
            # A table is filled once a request: its bytes are copied only into the request.
            if points and (layout is before or points + values.size > MOST_POINTS):
                yield self._request(metrics), points
                metrics, points = {}, 0
            try:
                filled = list(self._plan(layout).filled(times, values, self._starts))
            except (
                Exception
            ):  # what cannot be written of one read must not cost the others; the caller counts it
                _log.exception("%d readings cannot be encoded", values.size)
                continue
            for head, body in filled:
                metrics.setdefault(head, []).append(body)
            points += values.size
            before = layout
        if points:
            yield self._request(metrics), points
        self._starts.forget()

    def _plan(self, layout: Layout) -> "_Plan":
        plan = self._plans.pop(layout, None) or _Plan(
            layout, [self._words_of(each) for each in layout.series]
        )
        self._plans[layout] = plan
        if len(self._plans) > _PLANS:
            self._plans.popitem(last=False)
        return plan

    def _words_of(self, series: Series) -> Words:
        """What is written of a series beside its numbers; kept while other series come and go."""
        if (words := self._words.get(series)) is None:
            if len(self._words) >= _SERIES:
                self._words.clear()
            point = NumberDataPoint(attributes=_pairs(attributes_of(series)))
            words = _head(series.counter, self._meanings), point.SerializeToString()
            self._words[series] = words
        return words

    def _request(self, metrics: Mapping[bytes, Sequence[memoryview]]) -> bytes:
        """Lengths from the inside out, then everything copied once."""
        parts = [part for head, points in metrics.items() for part in _metric(head, points)]
        scope = field_head(2, len(self._scope) + sum(map(len, parts)))
        size = len(self._resource) + len(scope) + len(self._scope) + sum(map(len, parts))
        return b"".join((field_head(1, size), self._resource, scope, self._scope, *parts))


class _Plan:
    """How the reads of one layout are written: a table for each metric and length of attributes."""

    def __init__(self, layout: Layout, words: Sequence[Words]) -> None:
        series = layout.series
        self.totals = [each for each in series if each.counter.kind == "total"]
        self._columns = np.array([i for i, each in enumerate(series) if each.counter.kind == "total"], int)
        nth = {id(each): i for i, each in enumerate(self.totals)}
        places = [(head, len(attributes)) for head, attributes in words]
        ordered = sorted(range(len(series)), key=places.__getitem__)
        self._tables = [
            (head, PointTable(columns, [words[i][1] for i in columns], starting))
            for (head, _), group in groupby(ordered, places.__getitem__)
            for columns in [list(group)]
            for starting in [[nth[id(series[i])] for i in columns] if head[0] == _SUM else None]
        ]

    def filled(
        self, times: Times, values: NDArray[np.float64], starts: Starts
    ) -> Iterator[tuple[bytes, memoryview]]:
        """The head of each metric with some of its points."""
        began = starts.of(self.totals, times, values[:, self._columns])
        for head, table in self._tables:
            yield head, table.filled(times, values, began)


def _columns(batches: Iterable[Batch]) -> Iterator[tuple[Layout, Times, NDArray[np.float64]]]:
    """Reads of one layout together, in pieces that fit a request."""
    together: dict[Layout, list[Batch]] = {}
    for batch in batches:
        together.setdefault(batch[1].layout, []).append(batch)
    for layout, group in together.items():
        step = max(1, MOST_POINTS // max(1, len(layout.series)))
        for at in range(0, len(group), step):
            piece = group[at : at + step]
            times = np.array([ns for ns, _ in piece], dtype=np.int64)
            yield layout, times, np.stack([readings.values for _, readings in piece])


def _head(counter: Counter, meanings: Mapping[str, str]) -> bytes:
    """The number of the metric's data field, then the metric as far as it is the same in every request."""
    words = [(1, counter.metric), (2, meanings.get(counter.metric, "")), (3, counter.unit)]
    kind = _SUM if counter.kind == "total" else _GAUGE
    return bytes([kind]) + b"".join(field(number, word.encode()) for number, word in words if word)


def _metric(head: bytes, points: Sequence[memoryview]) -> list[bytes | memoryview]:
    """A metric of these points, in parts."""
    kind, said, size = head[0], head[1:], sum(map(len, points))
    closing = _CUMULATIVE_MONOTONIC if kind == _SUM else b""
    data = field_head(kind, size + len(closing))
    return [field_head(2, len(said) + len(data) + size + len(closing)), said, data, *points, closing]


def _pairs(attributes: Mapping[str, str]) -> list[KeyValue]:
    pairs = []
    for key, value in attributes.items():
        pair = KeyValue(key=key)
        if key in _WHOLE and value.isdecimal() and len(value) <= _DIGITS:
            pair.value.int_value = int(value)
        else:
            # A name from the kernel may hold bytes that are no text.
            pair.value.string_value = value.encode(errors="replace").decode()
        pairs.append(pair)
    return pairs
