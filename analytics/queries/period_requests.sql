-- The requests of a window (or, with $sample, of short stretches of it), in an order that does not depend
-- on how parts were merged.
SELECT $columns
FROM requests
WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
  AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
  AND $sample
  AND $where
ORDER BY time, trace_id, span_id
LIMIT {most:UInt64}
