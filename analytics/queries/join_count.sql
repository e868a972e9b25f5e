-- How many samples `join_samples` would give.
SELECT count() AS samples
FROM samples
WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
  AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
  AND metric IN {metrics:Array(String)}
  AND node IN {nodes:Array(String)}
  AND arrayExists(
      (left, right) -> toUnixTimestamp64Micro(time) >= left AND toUnixTimestamp64Micro(time) < right,
      {starts:Array(Int64)}, {ends:Array(Int64)})
