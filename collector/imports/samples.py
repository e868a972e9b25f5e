"""Rows of a table of counters as OTLP metrics: gauges, and cumulative sums for what only grows."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, Metric, NumberDataPoint

from otel_attrib import __version__
from otel_attrib.collector.imports.samples_mapping import SampleMapping
from otel_attrib.collector.imports.stamps import number, parse_stamp
from otel_attrib.collector.imports.table import Bad, Row
from otel_attrib.schema import attributes as names
from otel_attrib.schema.counters import COUNTERS, Counter

__all__ = ["SCOPE", "Sample", "export_samples", "samples_of"]

SCOPE = "otel_attrib.import"
_LATEST = 7_258_118_400 * 10**9
_BY_METRIC = {counter.metric: counter for counter in COUNTERS if counter.select is None}


@dataclass(frozen=True, slots=True)
class Sample:
    """One value; `metric` is the registry's name, or a long table's own word that the registry lacks.

    `more` are further attributes of the point.
    """

    ns: int
    node: str
    device: str
    service: str
    metric: str
    unit: str
    total: bool
    select: tuple[str, str] | None
    value: float
    known: bool
    more: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(
        cls,
        counter: Counter,
        ns: int,
        where: tuple[str, str, str],
        value: float,
        more: tuple[tuple[str, str], ...] = (),
    ) -> "Sample":
        """Make a value of a registered counter, in its unit; `where` is node, device and service."""
        return cls(
            ns,
            *where,
            metric=counter.metric,
            unit=counter.unit,
            total=counter.kind == "total",
            select=counter.select,
            value=value,
            known=True,
            more=more,
        )


def samples_of(row: Row, mapping: SampleMapping) -> Iterator[Sample | Bad]:
    """The values of one row, empty cells left out; a value that cannot be is `Bad`.

    ValueError says why the row as a whole cannot be used.
    """
    ns = _moment(row, mapping)
    where = (_word(row, mapping, "node"), _word(row, mapping, "device"), _word(row, mapping, "service"))
    for word, cell in _cells(row, mapping):
        counter = mapping.counters.get(word) or (_BY_METRIC.get(word) if mapping.long else None)
        try:
            value = _number(word, cell)
            if value is not None:
                yield _sample(ns, where, word, counter, value, mapping)
        except ValueError as fault:
            yield Bad(row.line, str(fault))


def _sample(
    ns: int,
    where: tuple[str, str, str],
    word: str,
    counter: Counter | None,
    value: float,
    mapping: SampleMapping,
) -> Sample:
    if counter is None:
        return Sample(ns, *where, metric=word, unit="", total=False, select=None, value=value, known=False)
    value *= mapping.factors.get(counter.key, 1.0)
    if value > counter.most:
        raise ValueError(f"{counter.key} is {value:g} {counter.unit}, more than any device can do")
    if counter.kind == "total" and value < 0:
        raise ValueError(f"{counter.key} is {value:g}, and a total is never below zero")
    return Sample.of(counter, ns, where, value)


def _moment(row: Row, mapping: SampleMapping) -> int:
    column = mapping.places["time"]
    try:
        stamp = parse_stamp(row.cells.get(column), mapping.time_unit)
    except ValueError as fault:
        raise ValueError(f"time (column {column}): {fault}") from None
    if stamp is None:
        raise ValueError(f"time (column {column}) is empty")
    if not 0 < stamp.ns < _LATEST:
        raise ValueError(f"time (column {column}) lies before 1970 or after 2200: check --unit time:…")
    return stamp.ns


def _word(row: Row, mapping: SampleMapping, name: str) -> str:
    value = row.cells.get(mapping.places[name]) if name in mapping.places else None
    return mapping.constants.get(name, "") if value is None else str(value).strip()


def _cells(row: Row, mapping: SampleMapping) -> Iterator[tuple[str, object]]:
    if not mapping.long:
        yield from ((column, row.cells.get(column)) for column in mapping.counters)
        return
    word = row.cells.get(mapping.places["metric"])
    if word is None or not str(word).strip():
        raise ValueError(f"metric (column {mapping.places['metric']}) is empty")
    yield str(word).strip(), row.cells.get(mapping.places["value"])


def _number(word: str, cell: object) -> float | None:
    try:
        found = number(cell)
    except ValueError as fault:
        raise ValueError(f"{word}: {fault}") from None
    if found is None:
        return None
    value = float(found)
    if not isfinite(value):
        raise ValueError(f"{word}: {cell!r} is too large a number")
    return value


def export_samples(samples: Sequence[Sample]) -> bytes:
    """One serialized ExportMetricsServiceRequest; points of one resource and metric stand together."""
    resources: dict[tuple[str, str], dict[tuple[str, str, bool], list[Sample]]]
    resources = defaultdict(lambda: defaultdict(list))
    for sample in samples:
        resources[sample.node, sample.service][sample.metric, sample.unit, sample.total].append(sample)
    message = ExportMetricsServiceRequest()
    for (node, service), metrics in resources.items():
        part = message.resource_metrics.add()
        said = {names.HOST_NAME: node, names.SERVICE_NAME: service}
        part.resource.attributes.extend(_text(key, word) for key, word in said.items() if word)
        scope = part.scope_metrics.add()
        scope.scope.name, scope.scope.version = SCOPE, __version__
        scope.metrics.extend(_metric(*key, points) for key, points in metrics.items())
    return message.SerializeToString(deterministic=True)


def _metric(name: str, unit: str, total: bool, samples: Sequence[Sample]) -> Metric:
    metric = Metric(name=name, unit=unit)
    points = [_point(sample) for sample in samples]
    if total:
        metric.sum.is_monotonic = True
        metric.sum.aggregation_temporality = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
        metric.sum.data_points.extend(points)
    else:
        metric.gauge.data_points.extend(points)
    return metric


def _point(sample: Sample) -> NumberDataPoint:
    said = [(names.HW_ID, sample.device)] if sample.device else []
    said += [sample.select] if sample.select else []
    said += sample.more
    return NumberDataPoint(
        time_unix_nano=sample.ns, as_double=sample.value, attributes=[_text(key, word) for key, word in said]
    )


def _text(key: str, word: str) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(string_value=word))
