-- When the first request of a window arrived.
SELECT toUnixTimestamp64Micro(min(time)) AS first_us, count() AS requests
FROM requests
WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC') AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
    AND $where
