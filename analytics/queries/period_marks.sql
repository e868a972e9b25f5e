-- What people and machines did to the service within a window.
SELECT time, kind, name, service, attributes
FROM marks
WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
  AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
ORDER BY time, kind, name, service
