"""The quick encoding beside the plain one: the same bytes that protobuf's own classes write."""

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, Metric, NumberDataPoint

from otel_attrib import __version__
from otel_attrib.collector.agent import encode
from otel_attrib.collector.agent.encode import Batch, Encoder, descriptions
from otel_attrib.collector.agent.source import Reading, Series, series
from otel_attrib.collector.agent.wire import varint
from otel_attrib.schema.context_counters import EVERY_COUNTER
from otel_attrib.testing_agent import readings_of

NODE = {"host.name": "node7", "service.name": "otel-attrib-agent"}
NOON = 1_760_000_000_000_000_000


def plain(
    batches: Iterable[tuple[int, Sequence[Reading]]], resource: Mapping[str, str]
) -> ExportMetricsServiceRequest:
    """What a straightforward exporter would send: one message object a point."""
    request = ExportMetricsServiceRequest()
    scope = request.resource_metrics.add().scope_metrics.add()
    for key, text in resource.items():
        request.resource_metrics[0].resource.attributes.add(key=key).value.string_value = text
    scope.scope.name, scope.scope.version = "otel_attrib.agent", __version__
    metrics: dict[str, Metric] = {}
    began: dict[Series, int] = {}
    last: dict[Series, float] = {}
    for ns, readings in batches:
        for one, value in readings:
            name = one.counter.metric
            if name not in metrics:
                said = descriptions().get(name, "")
                metrics[name] = scope.metrics.add(name=name, unit=one.counter.unit, description=said)
            point = _data(metrics[name], one).data_points.add(time_unix_nano=ns, as_double=value)
            _attributes(point, one)
            if one.counter.kind == "total":
                if value < last.get(one, 0.0) or one not in began:
                    began[one] = ns
                last[one] = value
                point.start_time_unix_nano = began[one]
    return request


def _data(metric: Metric, one: Series) -> Any:
    if one.counter.kind == "gauge":
        return metric.gauge
    metric.sum.aggregation_temporality = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
    metric.sum.is_monotonic = True
    return metric.sum


def _attributes(point: NumberDataPoint, one: Series) -> None:
    if one.device:
        point.attributes.add(key="hw.id").value.string_value = one.device
        point.attributes.add(key="hw.type").value.string_value = "gpu"
    for key, text in (*([one.counter.select] if one.counter.select else []), *one.attributes):
        value = point.attributes.add(key=key).value
        if key in ("process.pid", "slatag.engine.pid"):
            value.int_value = int(text)
        else:
            value.string_value = text


def canonical(request: ExportMetricsServiceRequest) -> dict[str, object]:
    """A request whatever the order of its metrics and points: the points as sorted bytes."""
    found: dict[str, object] = {"resource": request.resource_metrics[0].resource.SerializeToString()}
    scope = request.resource_metrics[0].scope_metrics[0]
    found["scope"] = scope.scope.SerializeToString()
    for metric in scope.metrics:
        data = metric.sum if metric.HasField("sum") else metric.gauge
        points = sorted(point.SerializeToString(deterministic=True) for point in data.data_points)
        bare = Metric.FromString(metric.SerializeToString())
        del (bare.sum if bare.HasField("sum") else bare.gauge).data_points[:]
        assert metric.name not in found, "one metric stands once"
        found[metric.name] = bare.SerializeToString(), points
    return found


def every_series() -> list[Series]:
    """A series of each counter on two cards or of two processes, with attributes of different lengths."""
    found = []
    for counter in EVERY_COUNTER:
        for number in ("0", "11:3"):
            if counter.per_device:
                found.append(series(counter.key, number))
            else:
                found.append(
                    series(
                        counter.key, process__pid=number.replace(":", "77"), slatag__process__role="worker"
                    )
                )
    return found


def test_requests_equal_the_plain_encoding() -> None:
    """Every counter, cards and processes, seven reads with falling totals: the same message."""
    rng, every = random.Random(7), every_series()
    batches = [(NOON + 100_000_000 * i, [(one, rng.random()) for one in every]) for i in range(7)]
    told: list[Batch] = _batches(batches)

    ((body, points),) = Encoder(NODE).requests(told)

    assert 7 * len(every) == points
    assert canonical(plain(batches, NODE)) == canonical(ExportMetricsServiceRequest.FromString(body))


def _batches(batches: Sequence[tuple[int, Sequence[Reading]]]) -> list[Batch]:
    """As one source gives them: one set of layouts."""
    from otel_attrib.collector.agent.readings import Layouts

    layouts = Layouts()
    return [(ns, layouts.taken(pairs)[0]) for ns, pairs in batches]


def test_bytes_are_those_of_protobuf() -> None:
    """One series: the body is byte for byte what protobuf's own serialisation gives."""
    clock = series("gpu_clock", "0")
    batches = [(NOON + i, [(clock, 0.0 if i == 1 else 1980.0 + i)]) for i in range(5)]

    ((body, _),) = Encoder(NODE).requests(_batches(batches))

    assert plain(batches, NODE).SerializeToString() == body


def test_the_second_request_is_as_right_as_the_first() -> None:
    """Templates are filled again with more reads, then fewer; starts are kept from request to request."""
    encoder, every = Encoder(NODE), every_series()[:40]
    from otel_attrib.collector.agent.readings import Layouts

    layouts, told, at = Layouts(), [], 0
    for reads in (3, 9, 1):
        pairs = [
            (NOON + at + i, [(one, (at + i + n) / 100) for n, one in enumerate(every)]) for i in range(reads)
        ]
        told.append(pairs)
        ((body, _),) = encoder.requests([(ns, layouts.taken(each)[0]) for ns, each in pairs])
        got = canonical(ExportMetricsServiceRequest.FromString(body))
        whole = plain([batch for batches in told for batch in batches], NODE)
        _keep_since(whole, pairs[0][0])

        assert canonical(whole) == got
        at += reads


def _keep_since(request: ExportMetricsServiceRequest, ns: int) -> None:
    for metric in request.resource_metrics[0].scope_metrics[0].metrics:
        points = (metric.sum if metric.HasField("sum") else metric.gauge).data_points
        late = [NumberDataPoint.FromString(p.SerializeToString()) for p in points if p.time_unix_nano >= ns]
        del points[:]
        points.extend(late)


def test_series_of_two_sources_share_a_metric() -> None:
    """`hw.errors` of several sources is one metric with all points."""
    batches = [
        (NOON, readings_of([(series("xid", "0"), 1.0)])),
        (NOON, readings_of([(series("pcie_replays", "0"), 2.0), (series("nvlink_crc", "1"), 3.0)])),
    ]

    ((body, points),) = Encoder(NODE).requests(batches)
    (metric,) = ExportMetricsServiceRequest.FromString(body).resource_metrics[0].scope_metrics[0].metrics

    assert (3, "hw.errors", {1.0, 2.0, 3.0}) == (
        points,
        metric.name,
        {point.as_double for point in metric.sum.data_points},
    )


def test_large_reads_become_several_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """No request has more points than allowed, and none is lost or doubled."""
    monkeypatch.setattr(encode, "MOST_POINTS", 100)
    every = every_series()[:30]
    batches = _batches([(NOON + i, [(one, i / 10) for one in every]) for i in range(10)])

    found = list(Encoder(NODE).requests(batches))
    times: dict[str, list[int]] = defaultdict(list)
    for body, _ in found:
        for metric in (
            ExportMetricsServiceRequest.FromString(body).resource_metrics[0].scope_metrics[0].metrics
        ):
            data = metric.sum if metric.HasField("sum") else metric.gauge
            times[metric.name] += [point.time_unix_nano for point in data.data_points]

    assert 4 == len(found)
    assert all(points <= 100 for _, points in found)
    assert 300 == sum(map(len, times.values())) == sum(points for _, points in found)


def test_names_that_are_no_text_are_written() -> None:
    """A byte of a file name that is no UTF-8 becomes a question mark; a pid beyond all bounds stays text."""
    one = series("cpu_throttled", slatag__cgroup__path="/caf\udce9", process__pid="9" * 30)

    ((body, _),) = Encoder(NODE).requests([(NOON, readings_of([(one, 1.0)]))])
    metric = ExportMetricsServiceRequest.FromString(body).resource_metrics[0].scope_metrics[0].metrics[0]
    said = {pair.key: pair.value.string_value for pair in metric.sum.data_points[0].attributes}

    assert {"slatag.cgroup.path": "/caf?", "process.pid": "9" * 30} == said


def test_what_cannot_be_written_costs_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    """A mistake in one source's series loses that read alone, and it is said."""
    broken = Series(EVERY_COUNTER[0], "0", (("process.pid", 7),))  # type: ignore[arg-type] # the mistake
    batches = [(NOON, readings_of([(broken, 1.0)])), (NOON, readings_of([(series("xid", "0"), 1.0)]))]

    ((_, points),) = Encoder(NODE).requests(batches)

    assert 1 == points
    assert "1 readings cannot be encoded" in caplog.text


def test_nothing_gathered_is_no_request() -> None:
    """An empty round sends nothing."""
    assert [] == list(Encoder(NODE).requests([]))


@pytest.mark.parametrize("number", [0, 1, 127, 128, 300, 16_383, 16_384, 2**31])
def test_varint(number: int) -> None:
    """Lengths are written as protobuf's decoder reads them."""
    from google.protobuf.internal.decoder import _DecodeVarint  # type: ignore[attr-defined] # not in the stubs

    assert (number, len(varint(number))) == _DecodeVarint(varint(number), 0)


def test_registered_metrics_have_one_unit_and_kind() -> None:
    """One metric name has one unit and one kind, or its points could not stand in one metric."""
    kinds = sorted({(each.metric, each.unit, each.kind) for each in EVERY_COUNTER})

    assert [] == [one[0] for one, other in pairwise(kinds) if one[0] == other[0]]
