-- Answers that `otel-attrib watch` gave of its own accord: one row each time an incident was judged.
-- `incident` is the same in all rows of one; `state` is open, small, over. `report` is the JSON of `why`.
-- No time to live: a few rows a day, asked for long after the requests are gone.
-- ORDER BY: people ask what happened to one service lately.
CREATE TABLE IF NOT EXISTS reports$local $on_cluster
(
    time DateTime64(6, 'UTC'),
    incident String,
    state LowCardinality(String),
    onset DateTime64(6, 'UTC'),
    service LowCardinality(String),
    model LowCardinality(String),
    metric LowCardinality(String),
    quantile Float64,
    where Map(LowCardinality(String), String),
    verdict LowCardinality(String),
    layer LowCardinality(String),
    delta_ms Nullable(Float64),
    report String CODEC(ZSTD(3)),
    hash String
)
ENGINE = ${replicated}MergeTree
ORDER BY (service, time)
SETTINGS non_replicated_deduplication_window = $window;

-- A watch that may only read the store sends its reports as logs to the receiver; see schema/reports.py.
CREATE MATERIALIZED VIEW IF NOT EXISTS reports_from_logs_mv $on_cluster
TO reports$local AS
SELECT
    toDateTime64(Timestamp, 6, 'UTC') AS time,
    LogAttributes['incident'] AS incident,
    LogAttributes['state'] AS state,
    fromUnixTimestamp64Micro(toInt64OrZero(LogAttributes['onset_us']), 'UTC') AS onset,
    LogAttributes['service'] AS service,
    LogAttributes['model'] AS model,
    LogAttributes['metric'] AS metric,
    toFloat64OrZero(LogAttributes['quantile']) AS quantile,
    CAST(JSONExtract(LogAttributes['where'], 'Map(String, String)'),
        'Map(LowCardinality(String), String)') AS where,
    LogAttributes['verdict'] AS verdict,
    LogAttributes['layer'] AS layer,
    toFloat64OrNull(LogAttributes['delta_ms']) AS delta_ms,
    Body AS report,
    LogAttributes['hash'] AS hash
FROM otel_logs$local
WHERE ScopeName = 'otel_attrib.watch' AND EventName = 'otel_attrib.report';
