"""The tables that other tools know have the columns that the OpenTelemetry Collector's exporter makes.

Lists are copied from its documentation by hand; extra columns may only be computed (ALIAS).
"""

import pytest

from otel_attrib.schema.store import Store

MAP = "Map(LowCardinality(String), String)"
LOW = "LowCardinality(String)"
TRACES = {
    "Timestamp": "DateTime64(9)",
    "TraceId": "String",
    "SpanId": "String",
    "ParentSpanId": "String",
    "TraceState": "String",
    "SpanName": LOW,
    "SpanKind": LOW,
    "ServiceName": LOW,
    "ResourceAttributes": MAP,
    "ScopeName": "String",
    "ScopeVersion": "String",
    "SpanAttributes": MAP,
    "Duration": "UInt64",
    "StatusCode": LOW,
    "StatusMessage": "String",
    "Events.Timestamp": "Array(DateTime64(9))",
    "Events.Name": f"Array({LOW})",
    "Events.Attributes": f"Array({MAP})",
    "Links.TraceId": "Array(String)",
    "Links.SpanId": "Array(String)",
    "Links.TraceState": "Array(String)",
    "Links.Attributes": f"Array({MAP})",
}
LOGS = {
    "Timestamp": "DateTime64(9)",
    "TraceId": "String",
    "SpanId": "String",
    "TraceFlags": "UInt8",
    "SeverityText": LOW,
    "SeverityNumber": "UInt8",
    "ServiceName": LOW,
    "Body": "String",
    "ResourceSchemaUrl": LOW,
    "ResourceAttributes": MAP,
    "ScopeSchemaUrl": LOW,
    "ScopeName": "String",
    "ScopeVersion": LOW,
    "ScopeAttributes": MAP,
    "LogAttributes": MAP,
    "EventName": "String",
}
POINT = {
    "ResourceAttributes": MAP,
    "ResourceSchemaUrl": "String",
    "ScopeName": "String",
    "ScopeVersion": "String",
    "ScopeAttributes": MAP,
    "ScopeDroppedAttrCount": "UInt32",
    "ScopeSchemaUrl": "String",
    "ServiceName": LOW,
    "MetricName": LOW,
    "MetricDescription": "String",
    "MetricUnit": "String",
    "Attributes": MAP,
    "StartTimeUnix": "DateTime64(9)",
    "TimeUnix": "DateTime64(9)",
    "Flags": "UInt32",
}
EXEMPLARS = {
    "Exemplars.FilteredAttributes": f"Array({MAP})",
    "Exemplars.TimeUnix": "Array(DateTime64(9))",
    "Exemplars.Value": "Array(Float64)",
    "Exemplars.SpanId": "Array(String)",
    "Exemplars.TraceId": "Array(String)",
}
TOTALS = {"Count": "UInt64", "Sum": "Float64"}
EXTREMES = {"Min": "Float64", "Max": "Float64", "AggregationTemporality": "Int32"}
TABLES = {
    "otel_traces": TRACES,
    "otel_traces_trace_id_ts": {"TraceId": "String", "Start": "DateTime", "End": "DateTime"},
    "otel_logs": LOGS,
    "otel_metrics_gauge": {**POINT, **EXEMPLARS, "Value": "Float64"},
    "otel_metrics_sum": {
        **POINT,
        **EXEMPLARS,
        "Value": "Float64",
        "AggregationTemporality": "Int32",
        "IsMonotonic": "Bool",
    },
    "otel_metrics_histogram": {
        **POINT,
        **EXEMPLARS,
        **TOTALS,
        **EXTREMES,
        "BucketCounts": "Array(UInt64)",
        "ExplicitBounds": "Array(Float64)",
    },
    "otel_metrics_exp_histogram": {
        **POINT,
        **EXEMPLARS,
        **TOTALS,
        **EXTREMES,
        "Scale": "Int32",
        "ZeroCount": "UInt64",
        "PositiveOffset": "Int32",
        "PositiveBucketCounts": "Array(UInt64)",
        "NegativeOffset": "Int32",
        "NegativeBucketCounts": "Array(UInt64)",
    },
    "otel_metrics_summary": {
        **POINT,
        **TOTALS,
        "ValueAtQuantiles.Quantile": "Array(Float64)",
        "ValueAtQuantiles.Value": "Array(Float64)",
    },
}
COLUMNS = """
SELECT name, type FROM system.columns
WHERE database = currentDatabase() AND table = {table:String} AND default_kind != 'ALIAS'
"""
WINDOWS = """
SELECT name FROM system.tables
WHERE database = currentDatabase() AND engine LIKE '%MergeTree' AND name != 'schema_migrations'
    AND create_table_query NOT LIKE '%non_replicated_deduplication_window = 10000%'
"""


@pytest.mark.parametrize("table", TABLES)
def test_columns(tables: Store, table: str) -> None:
    """Names and types are the exporter's."""
    rows = tables.rows(COLUMNS, {"table": table})

    assert TABLES[table] == {row["name"]: row["type"] for row in rows}


def test_every_table_remembers_tokens(tables: Store) -> None:
    """Each table that rows are inserted into recognises a repeated block."""
    assert [] == tables.rows(WINDOWS)
