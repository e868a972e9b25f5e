-- Ten seconds of requests per combination of dimensions. quantileDD: every quantile of any union of
-- rows within 1 % of an order statistic; a state serves every level, whatever its own parameter says.
-- ORDER BY: the dimensions, because AggregatingMergeTree adds up rows with equal keys only.
CREATE TABLE IF NOT EXISTS requests_10s$local $on_cluster
(
    bucket DateTime('UTC') CODEC(Delta(4), ZSTD(1)),
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
    errors SimpleAggregateFunction(sum, UInt64),
    prompt_tokens SimpleAggregateFunction(sum, UInt64),
    output_tokens SimpleAggregateFunction(sum, UInt64),
    ttft AggregateFunction(quantileDD(0.01, 0.5), Float64),
    tpot AggregateFunction(quantileDD(0.01, 0.5), Float64),
    tbt AggregateFunction(quantileDD(0.01, 0.5), Float64),
    e2e AggregateFunction(quantileDD(0.01, 0.5), Float64),
    ingress_us_sum SimpleAggregateFunction(sum, Float64),
    ingress_us_count SimpleAggregateFunction(sum, UInt64),
    tokenize_us_sum SimpleAggregateFunction(sum, Float64),
    tokenize_us_count SimpleAggregateFunction(sum, UInt64),
    queue_us_sum SimpleAggregateFunction(sum, Float64),
    queue_us_count SimpleAggregateFunction(sum, UInt64),
    kv_init_us_sum SimpleAggregateFunction(sum, Float64),
    kv_init_us_count SimpleAggregateFunction(sum, UInt64),
    prefill_us_sum SimpleAggregateFunction(sum, Float64),
    prefill_us_count SimpleAggregateFunction(sum, UInt64),
    sample_us_sum SimpleAggregateFunction(sum, Float64),
    sample_us_count SimpleAggregateFunction(sum, UInt64),
    egress_us_sum SimpleAggregateFunction(sum, Float64),
    egress_us_count SimpleAggregateFunction(sum, UInt64),
    outside_us_sum SimpleAggregateFunction(sum, Float64),
    outside_us_count SimpleAggregateFunction(sum, UInt64)
)
ENGINE = ${replicated}AggregatingMergeTree
PARTITION BY toDate(bucket)
ORDER BY (service, model, bucket, engine, version, node, gpu_set, replica, tenant, sla_class, partition_id, operator_id)
TTL bucket + toIntervalDay($ttl_days)
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = $window,
    merge_selector_base = 16, min_bytes_for_wide_part = 134217728;

CREATE MATERIALIZED VIEW IF NOT EXISTS requests_10s_mv $on_cluster
TO requests_10s$local AS
SELECT
    toStartOfInterval(toDateTime(time, 'UTC'), toIntervalSecond(10)) AS bucket,
    service, node, gpu_set, engine, model, version, replica, tenant, sla_class, partition_id, operator_id,
    count() AS requests,
    countIf(status IN ('error', 'timeout')) AS errors,
    sum(prompt_tokens) AS prompt_tokens,
    sum(output_tokens) AS output_tokens,
    quantileDDStateIf(0.01, 0.5)(assumeNotNull(ttft_us), isNotNull(ttft_us)) AS ttft,
    quantileDDStateIf(0.01, 0.5)(assumeNotNull(tpot_us), isNotNull(tpot_us)) AS tpot,
    quantileDDArrayState(0.01, 0.5)(CAST(gaps_us, 'Array(Float64)')) AS tbt,
    quantileDDStateIf(0.01, 0.5)(assumeNotNull(e2e_us), isNotNull(e2e_us)) AS e2e,
    sum(ifNull(ingress_us, 0)) AS ingress_us_sum,
    count(ingress_us) AS ingress_us_count,
    sum(ifNull(tokenize_us, 0)) AS tokenize_us_sum,
    count(tokenize_us) AS tokenize_us_count,
    sum(ifNull(queue_us, 0)) AS queue_us_sum,
    count(queue_us) AS queue_us_count,
    sum(ifNull(kv_init_us, 0)) AS kv_init_us_sum,
    count(kv_init_us) AS kv_init_us_count,
    sum(ifNull(prefill_us, 0)) AS prefill_us_sum,
    count(prefill_us) AS prefill_us_count,
    sum(ifNull(sample_us, 0)) AS sample_us_sum,
    count(sample_us) AS sample_us_count,
    sum(ifNull(egress_us, 0)) AS egress_us_sum,
    count(egress_us) AS egress_us_count,
    sum(ifNull(outside_us, 0)) AS outside_us_sum,
    count(outside_us) AS outside_us_count
FROM requests$local
GROUP BY bucket, service, node, gpu_set, engine, model, version, replica, tenant, sla_class, partition_id, operator_id;
