-- A minute of requests per combination of dimensions: how many values fell into which bin, for heat maps, and
-- the quantileDD states of `requests_10s` merged, so that a day's quantiles need a sixth of the states. States
-- merge without loss: a quantile from here is the same number as from there.
-- Bins are a twentieth of a decade wide (12.2 %): bin k holds [10^(k/20), 10^((k+1)/20)) µs; bin 0 holds what is
-- below, too, and bin 239 what is above. A row counts as often as its weight says.
-- ORDER BY: the dimensions, because AggregatingMergeTree adds up rows with equal keys only.
CREATE TABLE IF NOT EXISTS requests_60s$local $on_cluster
(
    minute DateTime('UTC') CODEC(Delta(4), ZSTD(1)),
    service LowCardinality(String),
    node LowCardinality(String),
    gpu_set LowCardinality(String),
    engine LowCardinality(String),
    model LowCardinality(String),
    version LowCardinality(String),
    replica LowCardinality(String),
    tenant LowCardinality(String),
    sla_class LowCardinality(String),
    partition_id LowCardinality(String),
    operator_id LowCardinality(String),
    requests SimpleAggregateFunction(sum, UInt64),
    ttft AggregateFunction(quantileDD(0.01, 0.5), Float64),
    tpot AggregateFunction(quantileDD(0.01, 0.5), Float64),
    tbt AggregateFunction(quantileDD(0.01, 0.5), Float64),
    e2e AggregateFunction(quantileDD(0.01, 0.5), Float64),
    ttft_bins SimpleAggregateFunction(sumMap, Tuple(Array(UInt8), Array(UInt64))),
    tpot_bins SimpleAggregateFunction(sumMap, Tuple(Array(UInt8), Array(UInt64))),
    tbt_bins SimpleAggregateFunction(sumMap, Tuple(Array(UInt8), Array(UInt64))),
    e2e_bins SimpleAggregateFunction(sumMap, Tuple(Array(UInt8), Array(UInt64)))
)
ENGINE = ${replicated}AggregatingMergeTree
PARTITION BY toDate(minute)
ORDER BY (service, model, minute, engine, version, node, gpu_set, replica, tenant, sla_class, partition_id, operator_id)
TTL minute + toIntervalDay($ttl_days)
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = $window,
    merge_selector_base = 16, min_bytes_for_wide_part = 134217728;

-- only with a cluster
CREATE TABLE IF NOT EXISTS requests_60s $on_cluster AS requests_60s_local
ENGINE = Distributed('$cluster', currentDatabase(), 'requests_60s_local', cityHash64(service));

-- What a store has already is filled in, from nothing: a run that was interrupted leaves no minute twice.
DROP VIEW IF EXISTS requests_60s_bins_mv $on_cluster;

DROP VIEW IF EXISTS requests_60s_states_mv $on_cluster;

TRUNCATE TABLE requests_60s$local $on_cluster;

-- Through a table that keeps nothing, block by block: one GROUP BY of all rows would not fit in memory. On a
-- cluster the minutes of old rows stay on the shard that this runs on; sums over the shards are the same.
CREATE TABLE IF NOT EXISTS requests_60s_refill $on_cluster AS requests$local ENGINE = Null;

CREATE MATERIALIZED VIEW IF NOT EXISTS requests_60s_refill_mv $on_cluster
TO requests_60s$local AS
SELECT
$minute_bins
FROM requests_60s_refill
GROUP BY minute, service, node, gpu_set, engine, model, version, replica, tenant, sla_class, partition_id, operator_id;

INSERT INTO requests_60s_refill (time, service, node, gpu_set, engine, model, version, replica, tenant, sla_class,
    partition_id, operator_id, weight, ttft_us, tpot_us, e2e_us, gaps_us)
SELECT time, service, node, gpu_set, engine, model, version, replica, tenant, sla_class, partition_id, operator_id,
    weight, ttft_us, tpot_us, e2e_us, gaps_us
FROM requests
SETTINGS insert_deduplicate = 0, min_insert_block_size_rows = 200000, max_insert_threads = 1;

DROP VIEW IF EXISTS requests_60s_refill_mv $on_cluster;

DROP TABLE IF EXISTS requests_60s_refill $on_cluster;

INSERT INTO requests_60s$local (minute, service, node, gpu_set, engine, model, version, replica, tenant, sla_class,
    partition_id, operator_id, requests, ttft, tpot, tbt, e2e)
SELECT toStartOfMinute(bucket) AS minute, service, node, gpu_set, engine, model, version, replica, tenant, sla_class,
    partition_id, operator_id, requests, ttft, tpot, tbt, e2e
FROM requests_10s
SETTINGS insert_deduplicate = 0, min_insert_block_size_rows = 20000, max_insert_threads = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS requests_60s_bins_mv $on_cluster
TO requests_60s$local AS
SELECT
$minute_bins
FROM requests$local
GROUP BY minute, service, node, gpu_set, engine, model, version, replica, tenant, sla_class, partition_id, operator_id;

-- Without a GROUP BY: the table merges rows of one key when they are written, and once is enough.
CREATE MATERIALIZED VIEW IF NOT EXISTS requests_60s_states_mv $on_cluster
TO requests_60s$local AS
SELECT
    toStartOfMinute(bucket) AS minute,
    service, node, gpu_set, engine, model, version, replica, tenant, sla_class, partition_id, operator_id,
    requests, ttft, tpot, tbt, e2e
FROM requests_10s$local;
