-- How many requests a row stands for: 1, or more where others like it were sampled away on purpose. Sums and
-- quantiles count a row that many times, so that what was not kept is in them.
ALTER TABLE requests$local $on_cluster ADD COLUMN IF NOT EXISTS weight UInt32 DEFAULT 1 CODEC(ZSTD(1));

-- only with a cluster
ALTER TABLE requests $on_cluster ADD COLUMN IF NOT EXISTS weight UInt32 DEFAULT 1;

-- As before, and the weight: what the span says; else what the sampling threshold in its trace state says
-- (W3C: a share of 1 - T/2^56 was kept); else 1. A part of a request is one request with that chance, drawn
-- from the trace id, so that sums stay right on average. A weight below 1 or above 1000 is not believed: it
-- would let one span drown all others.
ALTER TABLE requests_from_spans_mv $on_cluster MODIFY QUERY
SELECT
    toDateTime64(Timestamp, 6, 'UTC') AS time,
    TraceId AS trace_id,
    SpanId AS span_id,
    firsts[1] AS request_id,
    ServiceName AS service,
    firsts[2] AS node,
    found[6] AS gpu_set,
    if(native = '', found[7], native) AS engine,
    found[8] AS engine_version,
    firsts[3] AS model,
    found[11] AS version,
    found[12] AS replica,
    firsts[4] AS tenant,
    found[15] AS sla_class,
    firsts[5] AS stream_id,
    firsts[6] AS partition_id,
    firsts[7] AS operator_id,
    firsts[8] AS parallelism,
    found[26] AS operation,
    found[27] = 'true' AS stream,
    multiIf(native != '', native, found[28] = 'import', 'import', 'otel_attrib') AS source,
    multiIf(
        found[29] IN ('ok', 'error', 'aborted', 'timeout'), found[29],
        StatusCode = 'Error', 'error',
        native = 'sglang' AND finish_reason = '', 'aborted',
        'ok') AS status,
    extract(found[30], '[^"\\[\\],]+') AS finish_reason,
    found[31] AS error_type,
    toUInt32OrZero(firsts[9]) AS prompt_tokens,
    toUInt32OrNull(firsts[10]) AS cached_tokens,
    toUInt32OrZero(firsts[11]) AS output_tokens,
    us[1] AS sla_deadline_ms,
    coalesce(us[2], us[23]) AS ttft_us,
    coalesce(us[3], if(output_tokens > 1, us[24] / (output_tokens - 1), NULL)) AS tpot_us,
    coalesce(us[4], us[25]) AS e2e_us,
    us[6] AS ingress_us,
    us[7] AS tokenize_us,
    coalesce(us[8], us[26]) AS queue_us,
    us[9] AS kv_init_us,
    coalesce(us[10], us[27]) AS prefill_us,
    us[11] AS sample_us,
    us[12] AS egress_us,
    coalesce(us[5], if(isNull(ttft_us), NULL, greatest(0, ttft_us - arraySum(
        arrayMap(part -> ifNull(part, 0), arrayConcat(arraySlice(us, 6, 7), arraySlice(us, 26, 2))))))) AS outside_us,
    us[13] AS decode_batch_wait_us,
    us[14] AS decode_forward_us,
    us[15] AS decode_sample_us,
    us[16] AS decode_egress_us,
    counts[1] AS gap_count,
    us[17] AS gap_mean_us,
    us[18] AS gap_p50_us,
    us[19] AS gap_p99_us,
    us[20] AS gap_max_us,
    if(notEmpty(series), CAST(series, 'Array(Float32)'), sketched) AS gaps_us,
    counts[2] AS preemptions,
    counts[3] AS prefill_chunks,
    counts[4] AS first_step,
    counts[5] AS last_step,
    us[21] AS batch_size_mean,
    us[22] AS kv_usage_max,
    counts[6] AS waiting_max,
    toUInt32(floor(if(stands_for >= 1 AND stands_for <= 1000, stands_for, 1) + cityHash64(TraceId) / 18446744073709551616.)) AS weight
FROM
(
    SELECT
        Timestamp, TraceId, SpanId, TraceState, ServiceName, StatusCode, native, found,
        -- Where several names mean one thing: the first that says something, of so many from there on.
        arrayMap(names -> arrayFirst(word -> word != '', arraySlice(found, names.1, names.2)), [
            (1, 3), (4, 2), (9, 2), (13, 2), (16, 2), (18, 2), (20, 4), (24, 2), (32, 2), (34, 2), (36, 2)]) AS firsts,
        arrayMap(word -> toUInt64OrNull(word), arraySlice(found, 38, 6)) AS counts,
        -- Microseconds, then what engines give in seconds; neither negative nor nan nor absurd.
        arrayMap(amount -> if(amount >= 0 AND amount < 1e15, amount, NULL), arrayConcat(
            arrayMap(word -> toFloat64OrNull(word), arraySlice(found, 44, 22)),
            arrayMap(word -> 1e6 * toFloat64OrNull(word), arraySlice(found, 66, 5)))) AS us,
        -- The whole series of gaps where it was recorded; else the sketch unfolded, each gap within 1 %.
        tryBase64Decode(found[71]) AS timeline,
        reinterpret(substring(timeline, 1, 4 * intDiv(length(timeline), 4)), 'Array(UInt32)') AS series,
        arraySlice(splitByChar(' ', found[72]), 1, 2048) AS buckets,
        arrayMap(bucket -> toUInt32OrZero(splitByChar(':', bucket)[2]), buckets) AS bucket_counts,
        arraySum(bucket_counts) AS claimed,
        arrayCumSum(bucket_counts) AS upto,
        -- A few bytes of a sketch can claim any number of gaps: more than the output has tokens is not believed,
        -- and of more than 65536 every n-th is kept, in the order of the buckets.
        greatest(1, intDiv(claimed + 65535, 65536)) AS nth,
        arrayFlatten(if(claimed > ifNull(toUInt64OrNull(firsts[11]) + 1, claimed), [], arrayMap(
            (bucket, count, last) -> arrayWithConstant(
                intDiv(last, nth) - intDiv(last - count, nth),
                toFloat32(2 / 2.02 * pow(1.02, least(toUInt32OrZero(splitByChar(':', bucket)[1]), 1500)))),
            buckets, bucket_counts, upto))) AS sketched,
        if(found[74] != '', toFloat64OrZero(found[74]), if(TraceState = '', 1,
            1 / (1 - reinterpretAsUInt64(reverse(unhex(rightPad(
                extract(TraceState, '(?:^|,)[ \t]*ot=(?:[^,;]*;)*th:([0-9a-f]{1,14})(?:[;, \t]|\\z)'),
                14, '0')))) / 72057594037927936))) AS stands_for
    FROM
    (
        SELECT
            Timestamp, TraceId, SpanId, TraceState, ServiceName, StatusCode,
            multiIf(ScopeName = 'otel_attrib.request', '', SpanName = 'llm_request', 'vllm', 'sglang') AS native,
            arrayReduce('groupArrayInsertAt(\'\', 75)',
                arrayConcat(mapValues(SpanAttributes), mapValues(ResourceAttributes)),
                arrayMap(name -> transform(name, [
                    'gen_ai.response.id', 'gen_ai.request.id', 'rid', -- 1
                    'host.name', 'k8s.node.name', -- 4
                    'slatag.gpu_set', 'slatag.engine', 'slatag.engine_version', -- 6
                    'gen_ai.request.model', 'gen_ai.response.model', -- 9
                    'service.version', 'slatag.replica', -- 11
                    'slatag.tenant', 'tenant', -- 13
                    'slatag.sla_class', -- 15
                    'slatag.stream_id', 'stream_id', -- 16
                    'slatag.partition_id', 'partition_id', -- 18
                    'slatag.operator_id', 'operator_id', 'slatag.flink_operator_id', 'flink_operator_id', -- 20
                    'slatag.parallelism', 'parallelism', -- 24
                    'gen_ai.operation.name', 'gen_ai.request.stream', 'slatag.source', 'slatag.status', -- 26
                    'gen_ai.response.finish_reasons', 'error.type', -- 30
                    'gen_ai.usage.input_tokens', 'gen_ai.usage.prompt_tokens', -- 32
                    'gen_ai.usage.cache_read.input_tokens', 'gen_ai.usage.cached_tokens', -- 34
                    'gen_ai.usage.output_tokens', 'gen_ai.usage.completion_tokens', -- 36
                    'slatag.token_gap.count', 'slatag.preemptions', 'slatag.prefill_chunks', -- 38
                    'slatag.step.first', 'slatag.step.last', 'slatag.waiting_max', -- 41
                    'slatag.sla_deadline_ms', 'slatag.first_byte_latency_us', -- 44
                    'slatag.tpot_us', 'slatag.e2e_us', -- 46
                    'slatag.stage.outside_us', 'slatag.stage.ingress_us', 'slatag.stage.tokenize_us', -- 48
                    'slatag.stage.queue_us', 'slatag.stage.kv_init_us', 'slatag.stage.prefill_us', -- 51
                    'slatag.stage.sample_us', 'slatag.stage.egress_us', -- 54
                    'slatag.decode.batch_wait_us', 'slatag.decode.forward_us', -- 56
                    'slatag.decode.sample_us', 'slatag.decode.egress_us', -- 58
                    'slatag.token_gap.mean_us', 'slatag.token_gap.p50_us', -- 60
                    'slatag.token_gap.p99_us', 'slatag.token_gap.max_us', -- 62
                    'slatag.batch_size_mean', 'slatag.kv_usage_max', -- 64
                    'gen_ai.latency.time_to_first_token', 'gen_ai.latency.time_in_model_decode', -- 66
                    'gen_ai.latency.e2e', 'gen_ai.latency.time_in_queue', -- 68
                    'gen_ai.latency.time_in_model_prefill', -- 70
                    'slatag.token_timeline', 'slatag.token_gap.sketch', 'slatag.shim', -- 71
                    'slatag.sample.weight' -- 74
                ], range(74), 74), arrayConcat(mapKeys(SpanAttributes), mapKeys(ResourceAttributes)))) AS found
        FROM otel_traces$local
        WHERE (ScopeName = 'otel_attrib.request' AND SpanKind = 'Server')
            OR (SpanName = 'llm_request' AND ScopeName LIKE 'vllm%')
            OR (ScopeName = 'sglang server' AND SpanName LIKE '%Req %')
    )
    WHERE NOT startsWith(found[2], 'HEALTH_CHECK_') AND NOT startsWith(found[3], 'HEALTH_CHECK_')
        AND (native = '' OR (found[68] != '' AND found[73] = ''))
);

-- As before, for each weight apart, and each of those as often as it counts: the table adds them up.
-- Who writes rows himself may write anything, and one value must not refuse a block: a time beyond 1e200 or nan is
-- not counted, gaps among which there is one that is no number are not, and a weight is 1000 at most.
ALTER TABLE requests_10s_mv $on_cluster MODIFY QUERY
WITH toStartOfInterval(toDateTime(time, 'UTC'), toIntervalSecond(10)) AS ten_seconds
SELECT
    arrayJoin(arrayWithConstant(least(weight, 1000), ten_seconds)) AS bucket,
    service, node, gpu_set, engine, model, version, replica, tenant, sla_class, partition_id, operator_id,
    count() AS requests,
    countIf(status IN ('error', 'timeout')) AS errors,
    sum(prompt_tokens) AS prompt_tokens,
    sum(output_tokens) AS output_tokens,
    quantileDDStateIf(0.01, 0.5)(assumeNotNull(ttft_us), ifNull(abs(ttft_us) < 1e200, 0)) AS ttft,
    quantileDDStateIf(0.01, 0.5)(assumeNotNull(tpot_us), ifNull(abs(tpot_us) < 1e200, 0)) AS tpot,
    quantileDDArrayStateIf(0.01, 0.5)(CAST(gaps_us, 'Array(Float64)'), isFinite(arraySum(gaps_us))) AS tbt,
    quantileDDStateIf(0.01, 0.5)(assumeNotNull(e2e_us), ifNull(abs(e2e_us) < 1e200, 0)) AS e2e,
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
GROUP BY
    ten_seconds, service, node, gpu_set, engine, model, version, replica, tenant, sla_class, partition_id, operator_id, weight;
