-- One row per engine step, unpacked from the spans that carry up to 256 of them in columns of text.
-- ORDER BY: a request names its engine and its steps' numbers or times.
CREATE TABLE IF NOT EXISTS steps$local $on_cluster
(
    time DateTime64(6, 'UTC') CODEC(Delta(8), ZSTD(1)),
    service LowCardinality(String),
    node LowCardinality(String),
    engine LowCardinality(String),
    replica LowCardinality(String),
    step UInt64 CODEC(Delta(8), ZSTD(1)),
    duration_us Nullable(Float64),
    batch_size Nullable(UInt32),
    prefill_tokens Nullable(UInt32),
    decode_tokens Nullable(UInt32),
    waiting Nullable(UInt32),
    running Nullable(UInt32),
    preemptions Nullable(UInt32),
    kv_usage Nullable(Float64),
    schedule_us Nullable(Float64),
    forward_us Nullable(Float64),
    sample_us Nullable(Float64),
    collective_us Nullable(Float64),
    copy_us Nullable(Float64),
    output_us Nullable(Float64)
)
ENGINE = ${replicated}MergeTree
PARTITION BY toDate(time)
ORDER BY (service, node, replica, time)
TTL toDateTime(time) + toIntervalDay($ttl_days)
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = $window;

-- An element out of an array's bounds, and one that is no number, reads as not observed.
CREATE MATERIALIZED VIEW IF NOT EXISTS steps_mv $on_cluster
TO steps$local AS
SELECT
    addMicroseconds(started, toInt64OrZero(row[1])) AS time,
    service, node, engine, replica, step,
    toFloat64OrNull(row[2]) AS duration_us,
    toUInt32OrNull(row[3]) AS batch_size,
    toUInt32OrNull(row[4]) AS prefill_tokens,
    toUInt32OrNull(row[5]) AS decode_tokens,
    toUInt32OrNull(row[6]) AS waiting,
    toUInt32OrNull(row[7]) AS running,
    toUInt32OrNull(row[8]) AS preemptions,
    toFloat64OrNull(row[9]) / 1e6 AS kv_usage,
    toFloat64OrNull(row[10]) AS schedule_us,
    toFloat64OrNull(row[11]) AS forward_us,
    toFloat64OrNull(row[12]) AS sample_us,
    toFloat64OrNull(row[13]) AS collective_us,
    toFloat64OrNull(row[14]) AS copy_us,
    toFloat64OrNull(row[15]) AS output_us
FROM
(
    SELECT
        started, service, node, engine, replica,
        arrayJoin(range(1, 1 + least(count, 4096))) AS nth,
        first + nth - 1 AS step,
        arrayMap(column -> column[nth], columns) AS row
    FROM
    (
        SELECT
            toDateTime64(Timestamp, 6, 'UTC') AS started,
            ServiceName AS service,
            arrayFirst(word -> word != '', [ResourceAttributes['host.name'], ResourceAttributes['k8s.node.name']]) AS node,
            SpanAttributes['slatag.engine'] AS engine,
            SpanAttributes['slatag.replica'] AS replica,
            toUInt64OrZero(SpanAttributes['slatag.steps.first']) AS first,
            toUInt32OrZero(SpanAttributes['slatag.steps.count']) AS count,
            arrayMap(name -> splitByChar(',', SpanAttributes[name]), [
                'slatag.steps.start_us', 'slatag.steps.duration_us', 'slatag.steps.batch_size',
                'slatag.steps.prefill_tokens', 'slatag.steps.decode_tokens', 'slatag.steps.waiting',
                'slatag.steps.running', 'slatag.steps.preemptions', 'slatag.steps.kv_usage_ppm',
                'slatag.steps.schedule_us', 'slatag.steps.forward_us', 'slatag.steps.sample_us',
                'slatag.steps.collective_us', 'slatag.steps.copy_us', 'slatag.steps.output_us']) AS columns
        FROM otel_traces$local
        WHERE ScopeName = 'otel_attrib.steps'
    )
);
