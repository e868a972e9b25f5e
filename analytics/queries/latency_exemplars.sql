-- The newest request of each size, for the buckets of a histogram: sizes a fifth apart.
SELECT
    service, model, operation, engine, $more status, error_type,
    part.1 AS metric,
    argMax(one.trace_id, one.time) AS trace_id,
    argMax(assumeNotNull(part.2), one.time) AS us,
    toUnixTimestamp64Micro(max(one.time)) AS at_us
FROM requests AS one
ARRAY JOIN [
    ('ttft', if(status = 'ok', ttft_us, NULL)), ('tpot', if(status = 'ok', tpot_us, NULL)),
    ('tbt', if(status = 'ok', gap_max_us, NULL)), ('e2e', e2e_us)] AS part
WHERE one.time >= now64(6, 'UTC') - toIntervalSecond({seconds:UInt32})
    AND one.trace_id != '' AND isNotNull(part.2)
GROUP BY
    service, model, operation, engine, $more status, error_type,
    metric, floor(4 * log2(1 + assumeNotNull(part.2)))
