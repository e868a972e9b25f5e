-- Engines that served the same model in a stretch of time, the busiest first.
SELECT node, gpu_set, replica, count() AS requests
FROM requests
WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
  AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
  AND model = {model:String}
GROUP BY node, gpu_set, replica
ORDER BY requests DESC, node, gpu_set, replica
LIMIT {most:UInt32}
