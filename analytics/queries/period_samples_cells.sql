-- Counters in cells of time: a gauge's mean, of a total the last value (its increase is what counts).
SELECT
    max(sampled) AS time, metric, node, device, service, any(tags) AS attributes,
    if(metric IN {totals:Array(String)}, argMax(number, (sampled, number)), avg(number)) AS value
FROM
(
    SELECT time AS sampled, metric, node, device, service, attributes AS tags, value AS number
    FROM samples
    WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
      AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
      AND metric IN {metrics:Array(String)}
      AND node IN {nodes:Array(String)}
)
GROUP BY
    metric, node, device, service, toString(tags) AS told_apart,
    intDiv(toUnixTimestamp64Micro(sampled) - {from_us:Int64}, {cell_us:Int64}) AS cell
ORDER BY metric, node, device, told_apart, cell
