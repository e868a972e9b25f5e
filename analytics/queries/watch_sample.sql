-- A window's requests, or one in so many of them, the same whenever it is asked for: what the limits are
-- fitted to, for which their order does not matter.
SELECT toString(model) AS model, prompt_tokens, output_tokens, toFloat64(assumeNotNull($value)) / 1000 AS ms, weight
FROM requests
WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
  AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
  AND $where
  AND $values > 0
  AND ({one_in:UInt64} = 1 OR cityHash64(trace_id, span_id) % {one_in:UInt64} = 0)
