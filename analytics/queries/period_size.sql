-- How many requests a window holds, and how many tokens they put out.
SELECT sum(weight) AS requests, sum(toUInt64(output_tokens) * weight) AS tokens
FROM requests
WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
  AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
  AND $where
