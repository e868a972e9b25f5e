-- Device and host counters, one number a row, with microseconds. Filled from the exporter's own tables,
-- whoever writes them.
-- ORDER BY: a question names one counter and a few devices.
CREATE TABLE IF NOT EXISTS samples$local $on_cluster
(
    time DateTime64(6, 'UTC') CODEC(Delta(8), ZSTD(1)),
    metric LowCardinality(String),
    node LowCardinality(String),
    device LowCardinality(String),
    service LowCardinality(String),
    attributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    value Float64 CODEC(ZSTD(1))
)
ENGINE = ${replicated}MergeTree
PARTITION BY toDate(time)
ORDER BY (metric, node, device, time)
TTL toDateTime(time) + toIntervalDay($ttl_days)
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = $window;

CREATE MATERIALIZED VIEW IF NOT EXISTS samples_from_gauge_mv $on_cluster
TO samples$local AS
SELECT
    toDateTime64(TimeUnix, 6, 'UTC') AS time,
    MetricName AS metric,
    arrayFirst(word -> word != '', [ResourceAttributes['host.name'], ResourceAttributes['k8s.node.name']]) AS node,
    arrayFirst(word -> word != '', [Attributes['hw.id'], ResourceAttributes['hw.id']]) AS device,
    ServiceName AS service,
    Attributes AS attributes,
    Value AS value
FROM otel_metrics_gauge$local;

CREATE MATERIALIZED VIEW IF NOT EXISTS samples_from_sum_mv $on_cluster
TO samples$local AS
SELECT
    toDateTime64(TimeUnix, 6, 'UTC') AS time,
    MetricName AS metric,
    arrayFirst(word -> word != '', [ResourceAttributes['host.name'], ResourceAttributes['k8s.node.name']]) AS node,
    arrayFirst(word -> word != '', [Attributes['hw.id'], ResourceAttributes['hw.id']]) AS device,
    ServiceName AS service,
    Attributes AS attributes,
    Value AS value
FROM otel_metrics_sum$local;
