-- Spans, column for column as the OpenTelemetry Collector's ClickHouse exporter makes them, so that it
-- can write here in our receiver's place. Its four bloom filters over attribute keys and values are
-- left out: they cost a third of the ingest rate, and requests are looked up in `requests`.
-- merge_selector_base: blocks come large already, so parts are merged rarer than by default.
-- min_bytes_for_wide_part: a new part is one file for all columns, which halves what writing it costs.
-- ORDER BY: a service's spans of one name lie together, so their attributes compress and are skipped.
CREATE TABLE IF NOT EXISTS otel_traces$local $on_cluster
(
    Timestamp DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    TraceId String CODEC(ZSTD(1)),
    SpanId String CODEC(ZSTD(1)),
    ParentSpanId String CODEC(ZSTD(1)),
    TraceState String CODEC(ZSTD(1)),
    SpanName LowCardinality(String) CODEC(ZSTD(1)),
    SpanKind LowCardinality(String) CODEC(ZSTD(1)),
    ServiceName LowCardinality(String) CODEC(ZSTD(1)),
    ResourceAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    ScopeName String CODEC(ZSTD(1)),
    ScopeVersion String CODEC(ZSTD(1)),
    SpanAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    Duration UInt64 CODEC(T64, ZSTD(1)),
    StatusCode LowCardinality(String) CODEC(ZSTD(1)),
    StatusMessage String CODEC(ZSTD(1)),
    Events Nested
    (
        Timestamp DateTime64(9),
        Name LowCardinality(String),
        Attributes Map(LowCardinality(String), String)
    ) CODEC(ZSTD(1)),
    Links Nested
    (
        TraceId String,
        SpanId String,
        TraceState String,
        Attributes Map(LowCardinality(String), String)
    ) CODEC(ZSTD(1)),
    ResourceAttributeItems Array(String) ALIAS arrayMap(
        kv -> concat(kv.1, '=', kv.2), CAST(ResourceAttributes, 'Array(Tuple(String, String))')),
    SpanAttributeItems Array(String) ALIAS arrayMap(
        kv -> concat(kv.1, '=', kv.2), CAST(SpanAttributes, 'Array(Tuple(String, String))')),
    INDEX idx_trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX idx_duration Duration TYPE minmax GRANULARITY 1
)
ENGINE = ${replicated}MergeTree
PARTITION BY toDate(Timestamp)
PRIMARY KEY (ServiceName, SpanName, toDateTime(Timestamp))
ORDER BY (ServiceName, SpanName, toDateTime(Timestamp), Timestamp)
TTL toDateTime(Timestamp) + toIntervalDay($ttl_days)
SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1, non_replicated_deduplication_window = $window,
    merge_selector_base = 16, min_bytes_for_wide_part = 134217728;

-- Where in time a trace lies, so that a trace id alone finds its partition.
CREATE TABLE IF NOT EXISTS otel_traces_trace_id_ts$local $on_cluster
(
    TraceId String CODEC(ZSTD(1)),
    Start DateTime CODEC(Delta(4), ZSTD(1)),
    End DateTime CODEC(Delta(4), ZSTD(1)),
    INDEX idx_trace_id TraceId TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ${replicated}MergeTree
PARTITION BY toDate(Start)
ORDER BY (TraceId, Start)
TTL Start + toIntervalDay($ttl_days)
SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1, non_replicated_deduplication_window = $window;

CREATE MATERIALIZED VIEW IF NOT EXISTS otel_traces_trace_id_ts_mv $on_cluster
TO otel_traces_trace_id_ts$local AS
SELECT TraceId, min(Timestamp) AS Start, max(Timestamp) AS End
FROM otel_traces$local
WHERE TraceId != ''
GROUP BY TraceId;
