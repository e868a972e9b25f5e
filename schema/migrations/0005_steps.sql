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

-- The columns of text are cut first and joined then: an array looked up row by row would be copied whole for
-- each of its rows, 256 times 256. A column that is too short, and an element that is no number, reads as
-- not observed.
CREATE MATERIALIZED VIEW IF NOT EXISTS steps_mv $on_cluster
TO steps$local AS
SELECT
    addMicroseconds(started, toInt64OrZero(text_1)) AS time,
    service, node, engine, replica,
    first + nth AS step,
    toFloat64OrNull(text_2) AS duration_us,
    toUInt32OrNull(text_3) AS batch_size,
    toUInt32OrNull(text_4) AS prefill_tokens,
    toUInt32OrNull(text_5) AS decode_tokens,
    toUInt32OrNull(text_6) AS waiting,
    toUInt32OrNull(text_7) AS running,
    toUInt32OrNull(text_8) AS preemptions,
    toFloat64OrNull(text_9) / 1e6 AS kv_usage,
    toFloat64OrNull(text_10) AS schedule_us,
    toFloat64OrNull(text_11) AS forward_us,
    toFloat64OrNull(text_12) AS sample_us,
    toFloat64OrNull(text_13) AS collective_us,
    toFloat64OrNull(text_14) AS copy_us,
    toFloat64OrNull(text_15) AS output_us
FROM
(
    SELECT
        toDateTime64(Timestamp, 6, 'UTC') AS started,
        ServiceName AS service,
        arrayFirst(word -> word != '', [ResourceAttributes['host.name'], ResourceAttributes['k8s.node.name']]) AS node,
        SpanAttributes['slatag.engine'] AS engine,
        SpanAttributes['slatag.replica'] AS replica,
        toUInt64OrZero(SpanAttributes['slatag.steps.first']) AS first,
        least(toUInt32OrZero(SpanAttributes['slatag.steps.count']), 4096) AS count,
        arrayMap(name -> arrayResize(splitByChar(',', SpanAttributes[name]), count, ''), [
            'slatag.steps.start_us', 'slatag.steps.duration_us', 'slatag.steps.batch_size',
            'slatag.steps.prefill_tokens', 'slatag.steps.decode_tokens', 'slatag.steps.waiting',
            'slatag.steps.running', 'slatag.steps.preemptions', 'slatag.steps.kv_usage_ppm',
            'slatag.steps.schedule_us', 'slatag.steps.forward_us', 'slatag.steps.sample_us',
            'slatag.steps.collective_us', 'slatag.steps.copy_us', 'slatag.steps.output_us']) AS columns
    FROM otel_traces$local
    WHERE ScopeName = 'otel_attrib.steps'
)
ARRAY JOIN
    range(count) AS nth,
    columns[1] AS text_1, columns[2] AS text_2, columns[3] AS text_3, columns[4] AS text_4, columns[5] AS text_5,
    columns[6] AS text_6, columns[7] AS text_7, columns[8] AS text_8, columns[9] AS text_9, columns[10] AS text_10,
    columns[11] AS text_11, columns[12] AS text_12, columns[13] AS text_13, columns[14] AS text_14,
    columns[15] AS text_15;
