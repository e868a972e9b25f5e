-- Engines that served the chosen requests of a window.
SELECT node, gpu_set, replica, count() AS requests
FROM requests
WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
  AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
  AND $where
GROUP BY node, gpu_set, replica
ORDER BY node, gpu_set, replica
LIMIT {most:UInt32}
