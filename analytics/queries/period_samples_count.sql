-- How many samples there are, and how many series, to choose a width of cells.
SELECT count() AS samples, uniq(metric, node, device, toString(attributes)) AS series
FROM samples
WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
  AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
  AND metric IN {metrics:Array(String)}
  AND node IN {nodes:Array(String)}
