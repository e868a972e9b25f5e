"""Metric points arrive in the table of their kind with the values that were sent."""

from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Exemplar, Metric

from otel_attrib.schema.ingest import insert_metrics
from otel_attrib.schema.store import Store

NOON_NS = 1_767_268_800_123_456_789
STAMPS: dict[str, Any] = {"start_time_unix_nano": NOON_NS - 1, "time_unix_nano": NOON_NS, "flags": 1}
COMMON = {
    "ResourceAttributes": {"service.name": "svc", "host.name": "n0"},
    "ResourceSchemaUrl": "https://r",
    "ScopeName": "lib",
    "ScopeVersion": "2",
    "ScopeAttributes": {"scope": "yes"},
    "ScopeDroppedAttrCount": 3,
    "ScopeSchemaUrl": "https://s",
    "ServiceName": "svc",
    "MetricName": "m",
    "MetricDescription": "what",
    "MetricUnit": "By",
    "Attributes": {"hw.id": "gpu0"},
    "start": NOON_NS - 1,
    "at": NOON_NS,
    "Flags": 1,
}
EXEMPLARS = {
    "Exemplars.FilteredAttributes": [{"k": "v"}, {}],
    "Exemplars.Value": [0.5, 9.0],
    "Exemplars.SpanId": ["02" * 8, ""],
    "Exemplars.TraceId": ["01" * 16, ""],
}


def pair(key: str, text: str) -> KeyValue:
    """A text attribute."""
    return KeyValue(key=key, value=AnyValue(string_value=text))


def exemplars() -> list[Exemplar]:
    """One exemplar with a double, one with an int."""
    return [
        Exemplar(
            filtered_attributes=[pair("k", "v")],
            time_unix_nano=NOON_NS,
            as_double=0.5,
            trace_id=b"\x01" * 16,
            span_id=b"\x02" * 8,
        ),
        Exemplar(as_int=9),
    ]


def insert(store: Store, **data: Any) -> None:
    """One metric with one point."""
    message = ExportMetricsServiceRequest()
    part = message.resource_metrics.add(schema_url="https://r")
    part.resource.attributes.extend([pair("service.name", "svc"), pair("host.name", "n0")])
    group = part.scope_metrics.add(schema_url="https://s")
    group.scope.name, group.scope.version, group.scope.dropped_attributes_count = "lib", "2", 3
    group.scope.attributes.append(pair("scope", "yes"))
    group.metrics.append(Metric(name="m", description="what", unit="By", **data))
    insert_metrics(store, [message.SerializeToString()], token="t")


def stored(store: Store, table: str) -> list[dict[str, Any]]:
    """Rows of a metric table, times as nanoseconds."""
    rows = store.rows(
        "SELECT * EXCEPT (StartTimeUnix, TimeUnix), toUnixTimestamp64Nano(StartTimeUnix) AS start, "
        f"toUnixTimestamp64Nano(TimeUnix) AS at FROM {table} ORDER BY Attributes"
    )
    for row in rows:
        row.pop("Exemplars.TimeUnix", None)
    return rows


def test_gauge(store: Store) -> None:
    """A gauge's doubles and ints are doubles, and each is a sample of its device."""
    points = [
        {**STAMPS, "attributes": [pair("hw.id", "gpu0")], "as_double": 1.5, "exemplars": exemplars()},
        {**STAMPS, "attributes": [pair("hw.id", "gpu1")], "as_int": -7},
        {**STAMPS, "attributes": [pair("hw.id", "gpu2")], "as_int": 0},
    ]
    insert(store, gauge={"data_points": points})

    rows = stored(store, "otel_metrics_gauge")
    assert {**COMMON, **EXEMPLARS, "Value": 1.5} == rows[0]
    assert [1.5, -7.0, 0.0] == [row["Value"] for row in rows]
    samples = store.rows("SELECT *, toUnixTimestamp64Micro(time) AS at FROM samples ORDER BY device")
    assert [("gpu0", 1.5), ("gpu1", -7.0), ("gpu2", 0.0)] == [
        (row["device"], row["value"]) for row in samples
    ]
    assert ("m", "n0", "svc", {"hw.id": "gpu0"}, NOON_NS // 1000) == tuple(
        samples[0][key] for key in ("metric", "node", "service", "attributes", "at")
    )


def test_sum(store: Store) -> None:
    """A sum keeps its temporality and is a sample too."""
    point = {**STAMPS, "attributes": [pair("hw.id", "gpu0")], "as_int": 2**53, "exemplars": exemplars()}
    insert(store, sum={"data_points": [point], "aggregation_temporality": 2, "is_monotonic": True})

    assert [
        {**COMMON, **EXEMPLARS, "Value": float(2**53), "AggregationTemporality": 2, "IsMonotonic": True}
    ] == stored(store, "otel_metrics_sum")
    assert [{"value": float(2**53)}] == store.rows("SELECT value FROM samples")


def test_histogram(store: Store) -> None:
    """A histogram keeps buckets, bounds, extremes and exemplars."""
    point = {
        **STAMPS,
        "attributes": [pair("hw.id", "gpu0")],
        "count": 3,
        "sum": 6.5,
        "bucket_counts": [1, 0, 2],
        "explicit_bounds": [0.5, 1.0],
        "min": 0.25,
        "max": 4.0,
        "exemplars": exemplars(),
    }
    insert(store, histogram={"data_points": [point], "aggregation_temporality": 1})

    assert [
        {
            **COMMON,
            **EXEMPLARS,
            "Count": 3,
            "Sum": 6.5,
            "BucketCounts": [1, 0, 2],
            "ExplicitBounds": [0.5, 1.0],
            "Min": 0.25,
            "Max": 4.0,
            "AggregationTemporality": 1,
        }
    ] == stored(store, "otel_metrics_histogram")
    assert [] == store.rows("SELECT * FROM samples")


def test_exponential_histogram(store: Store) -> None:
    """An exponential histogram keeps scale, offsets and both sides."""
    point = {
        **STAMPS,
        "attributes": [pair("hw.id", "gpu0")],
        "count": 9,
        "sum": -1.5,
        "scale": -3,
        "zero_count": 2,
        "positive": {"offset": -4, "bucket_counts": [1, 2]},
        "negative": {"offset": 5, "bucket_counts": [4]},
        "min": -8.0,
        "max": 8.0,
        "exemplars": exemplars(),
    }
    insert(store, exponential_histogram={"data_points": [point], "aggregation_temporality": 2})

    assert [
        {
            **COMMON,
            **EXEMPLARS,
            "Count": 9,
            "Sum": -1.5,
            "Scale": -3,
            "ZeroCount": 2,
            "PositiveOffset": -4,
            "PositiveBucketCounts": [1, 2],
            "NegativeOffset": 5,
            "NegativeBucketCounts": [4],
            "Min": -8.0,
            "Max": 8.0,
            "AggregationTemporality": 2,
        }
    ] == stored(store, "otel_metrics_exp_histogram")


def test_summary(store: Store) -> None:
    """A summary keeps its quantiles."""
    point = {
        **STAMPS,
        "attributes": [pair("hw.id", "gpu0")],
        "count": 4,
        "sum": 10.0,
        "quantile_values": [{"quantile": 0.5, "value": 2.0}, {"quantile": 0.99, "value": 4.0}],
    }
    insert(store, summary={"data_points": [point]})

    assert [
        {
            **COMMON,
            "Count": 4,
            "Sum": 10.0,
            "ValueAtQuantiles.Quantile": [0.5, 0.99],
            "ValueAtQuantiles.Value": [2.0, 4.0],
        }
    ] == stored(store, "otel_metrics_summary")


def test_a_retry_adds_nothing(store: Store) -> None:
    """The token holds down to the samples."""
    point = {**STAMPS, "as_int": 1}
    insert(store, gauge={"data_points": [point]})
    insert(store, gauge={"data_points": [point]})

    assert [{"points": 1, "samples": 1}] == store.rows(
        "SELECT (SELECT count() FROM otel_metrics_gauge) AS points, (SELECT count() FROM samples) AS samples"
    )
