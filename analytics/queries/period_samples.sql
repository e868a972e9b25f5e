-- Counters of the named nodes as they were sampled.
SELECT time, metric, node, device, service, attributes, value
FROM samples
WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
  AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
  AND metric IN {metrics:Array(String)}
  AND node IN {nodes:Array(String)}
ORDER BY metric, node, device, toString(attributes), time, value
