-- A sample of a window's requests, the same whenever it is asked for: what the limits are fitted to.
SELECT toString(model) AS model, prompt_tokens, output_tokens, toFloat64(assumeNotNull($value)) / 1000 AS ms
FROM requests
WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
  AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
  AND $where
  AND $values > 0
ORDER BY cityHash64(trace_id, span_id)
LIMIT {most:UInt64}
