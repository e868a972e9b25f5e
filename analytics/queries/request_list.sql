-- Requests of a span in the order of a page. Values are compared by their bits, which are ordered as they are
-- and pass through text unharmed.
SELECT
    toUnixTimestamp64Micro(time) AS at_us,
    trace_id, span_id, request_id,
    service, model, tenant, node,
    gpu_set, status,
    prompt_tokens, output_tokens, weight,
    ttft_us, tpot_us, e2e_us, $stages,
    $value AS value,
    reinterpretAsInt64(ifNull(value, 0.)) AS bits
FROM requests
WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
  AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
  AND $where
  AND $inside
  AND $after
ORDER BY $order
LIMIT {most:UInt64} OFFSET {skip:UInt64}
