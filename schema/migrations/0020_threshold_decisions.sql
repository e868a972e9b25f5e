-- What the dynamic threshold loop decided: one row for each latency of an objective and each period, added and
-- never changed. `day_ms` is what the candidate was compared with, the median of the last day's periods. The
-- threshold in force at a time is `after_ms` of the last row before it; see analytics/control.
-- `time` is the end of the period that it rests on, `decided` when that was. `limit_ms`, `quantile`,
-- `baseline_ms` and `buffer_ms` are the objective's own at that time: rows of another limit hold no longer.
-- No time to live: the threshold of today may have been set a year ago, and a row a period is little.
-- ORDER BY: one latency of one objective is asked for, by time.
CREATE TABLE IF NOT EXISTS threshold_decisions$local $on_cluster
(
    time DateTime64(6, 'UTC'),
    decided DateTime64(6, 'UTC'),
    objective LowCardinality(String),
    metric LowCardinality(String),
    quantile Float64,
    word LowCardinality(String),
    limit_ms Float64,
    before_ms Float64,
    after_ms Float64,
    candidate_ms Nullable(Float64),
    day_ms Nullable(Float64),
    baseline_ms Nullable(Float64),
    buffer_ms Nullable(Float64),
    periods_ms Array(Nullable(Float64)),
    periods_n Array(UInt64),
    rule String CODEC(ZSTD(3)),
    sentence String CODEC(ZSTD(3))
)
ENGINE = ${replicated}MergeTree
ORDER BY (objective, metric, time)
SETTINGS non_replicated_deduplication_window = $window;

-- A loop that may only read the store sends its decisions as logs to the receiver; see schema/decisions.py.
CREATE MATERIALIZED VIEW IF NOT EXISTS threshold_decisions_from_logs_mv $on_cluster
TO threshold_decisions$local AS
SELECT
    toDateTime64(Timestamp, 6, 'UTC') AS time,
    fromUnixTimestamp64Micro(toInt64OrZero(LogAttributes['decided_us']), 'UTC') AS decided,
    LogAttributes['objective'] AS objective,
    LogAttributes['metric'] AS metric,
    toFloat64OrZero(LogAttributes['quantile']) AS quantile,
    LogAttributes['word'] AS word,
    toFloat64OrZero(LogAttributes['limit_ms']) AS limit_ms,
    toFloat64OrZero(LogAttributes['before_ms']) AS before_ms,
    toFloat64OrZero(LogAttributes['after_ms']) AS after_ms,
    toFloat64OrNull(LogAttributes['candidate_ms']) AS candidate_ms,
    toFloat64OrNull(LogAttributes['day_ms']) AS day_ms,
    toFloat64OrNull(LogAttributes['baseline_ms']) AS baseline_ms,
    toFloat64OrNull(LogAttributes['buffer_ms']) AS buffer_ms,
    JSONExtract(LogAttributes['periods_ms'], 'Array(Nullable(Float64))') AS periods_ms,
    JSONExtract(LogAttributes['periods_n'], 'Array(UInt64)') AS periods_n,
    LogAttributes['rule'] AS rule,
    Body AS sentence
FROM otel_logs$local
WHERE ScopeName = 'otel_attrib.control' AND EventName = 'otel_attrib.threshold_decision';

-- only with a cluster
CREATE TABLE IF NOT EXISTS threshold_decisions $on_cluster AS threshold_decisions_local
ENGINE = Distributed('$cluster', currentDatabase(), 'threshold_decisions_local', cityHash64(objective));
