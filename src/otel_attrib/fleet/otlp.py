"""A simulation as OTLP export requests: one SERVER span a request, packed steps, counters as metrics."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow.compute as pc
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from otel_attrib import __version__
from otel_attrib.fleet.replayed import Replayed, slices
from otel_attrib.fleet.simulation import Simulation
from otel_attrib.fleet.tables import epoch_us
from otel_attrib.instrumentation.gaps import gaps_of, packed
from otel_attrib.instrumentation.request_span import attributes_of
from otel_attrib.schema import attributes as names
from otel_attrib.schema.counters import COUNTERS

__all__ = ["metric_exports", "request_exports", "step_exports"]

_AGENT_SCOPE = "otel_attrib.fleet"
_UNITS = {counter.metric: counter for counter in COUNTERS}


def request_exports(simulation: Simulation, size: int = 4000) -> Iterator[tuple[int, bytes]]:
    """Yield (requests, serialized ExportTraceServiceRequest), at most `size` requests each."""
    table = simulation.requests
    identity = {
        name: table[name].to_pylist() for name in ("trace_id", "span_id", "request_id", "node", "version")
    }
    gpus = table["gpu_set"].to_pylist()
    starts = pc.cast(table["time"], "int64").to_numpy() * 1000
    replayed = Replayed.of(simulation.scenario, simulation.run)
    engine, version = simulation.scenario.fleet.engine, table["engine_version"][0].as_py()
    for first in range(0, len(starts), size):
        message = ExportTraceServiceRequest()
        rows = range(first, min(first + size, len(starts)))
        ordered = sorted(rows, key=lambda row: (identity["node"][row], identity["version"][row]))
        for (node, deployed), group in groupby(
            ordered, key=lambda row: (identity["node"][row], identity["version"][row])
        ):
            spans = _scope(message, simulation, node, deployed, names.REQUEST_SCOPE)
            for row in group:
                timeline = replayed.timeline(row, identity["request_id"][row], int(starts[row]))
                said = attributes_of(timeline, engine, version) | {names.GPU_SET: gpus[row]}
                if simulation.scenario.sensors.timeline:
                    said[names.TOKEN_TIMELINE] = packed(gaps_of(timeline.sequences[0].stamps))
                spans.add(
                    trace_id=bytes.fromhex(identity["trace_id"][row]),
                    span_id=bytes.fromhex(identity["span_id"][row]),
                    name=f"{timeline.operation} {timeline.model}",
                    kind=Span.SPAN_KIND_SERVER,
                    start_time_unix_nano=timeline.wall,
                    end_time_unix_nano=timeline.wall + timeline.ended - timeline.arrived,
                    attributes=_pairs(said),
                )
        yield len(rows), message.SerializeToString(deterministic=True)


def step_exports(simulation: Simulation, size: int = 256) -> Iterator[tuple[int, bytes]]:
    """Yield (steps, serialized ExportTraceServiceRequest), at most `size` spans of steps each."""
    scenario, origin = simulation.scenario, epoch_us(simulation.scenario) * 1000
    chance = np.random.default_rng([simulation.seed, 8])
    for replica in range(scenario.replicas):
        found = list(slices(simulation.run, replica))
        node = f"node-{replica * scenario.fleet.tp // scenario.fleet.gpus_per_node}"
        for first in range(0, len(found), size):
            message = ExportTraceServiceRequest()
            spans = _scope(message, simulation, node, scenario.fleet.version, names.STEPS_SCOPE)
            count = 0
            for one in found[first : first + size]:
                count += int(one.attributes[names.STEPS_COUNT])
                said = one.attributes | {names.ENGINE: scenario.fleet.engine, names.REPLICA: str(replica)}
                spans.add(
                    trace_id=chance.bytes(16),
                    span_id=chance.bytes(8),
                    name=names.STEPS_SPAN_NAME,
                    kind=Span.SPAN_KIND_INTERNAL,
                    start_time_unix_nano=origin + one.start,
                    end_time_unix_nano=origin + one.end,
                    attributes=_pairs(said),
                )
            yield count, message.SerializeToString(deterministic=True)


def metric_exports(simulation: Simulation, size: int = 20_000) -> Iterator[tuple[int, bytes]]:
    """Yield (readings, serialized ExportMetricsServiceRequest); a message is full at `size` readings."""
    table = simulation.samples
    columns = {name: table[name].to_pylist() for name in ("metric", "node", "attributes")}
    times, values = pc.cast(table["time"], "int64").to_numpy() * 1000, table["value"].to_numpy()
    message, count = ExportMetricsServiceRequest(), 0
    rows = range(len(values))
    for (metric, node), group in groupby(
        rows, key=lambda row: (columns["metric"][row], columns["node"][row])
    ):
        points = _points(message, metric, node)
        for row in group:
            count += 1
            points.add(
                time_unix_nano=int(times[row]),
                as_double=float(values[row]),
                attributes=_pairs(dict(columns["attributes"][row])),
            )
        if count >= size:
            yield count, message.SerializeToString(deterministic=True)
            message, count = ExportMetricsServiceRequest(), 0
    if count:
        yield count, message.SerializeToString(deterministic=True)


def _points(message: ExportMetricsServiceRequest, name: str, node: str) -> Any:
    """Return where a node's readings of a metric go: a gauge's points, or those of a sum that only grows."""
    resource = message.resource_metrics.add()
    resource.resource.attributes.extend(_pairs({names.HOST_NAME: node}))
    scope = resource.scope_metrics.add()
    scope.scope.name, scope.scope.version = _AGENT_SCOPE, __version__
    metric = scope.metrics.add(name=name, unit=_UNITS[name].unit)
    if _UNITS[name].kind == "gauge":
        return metric.gauge.data_points
    metric.sum.aggregation_temporality = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
    metric.sum.is_monotonic = True
    return metric.sum.data_points


def _scope(
    message: ExportTraceServiceRequest, simulation: Simulation, node: str, version: str, scope: str
) -> Any:
    """Add one process's resource and scope; return the list of its spans."""
    resource = message.resource_spans.add()
    said = {
        names.SERVICE_NAME: simulation.scenario.fleet.service,
        names.SERVICE_VERSION: version,
        names.HOST_NAME: node,
    }
    resource.resource.attributes.extend(_pairs(said))
    found = resource.scope_spans.add()
    found.scope.name, found.scope.version = scope, __version__
    return found.spans


def _pairs(said: dict[str, Any]) -> list[KeyValue]:
    return [KeyValue(key=key, value=_value(value)) for key, value in said.items()]


def _value(value: Any) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, list):
        return AnyValue(array_value=ArrayValue(values=[_value(one) for one in value]))
    return AnyValue(string_value=str(value))
