-- How many requests each hour holds at most, from the 10 s states: a sampled request counts for all it stands for.
SELECT toInt64(intDiv(toUnixTimestamp(bucket), 3600)) AS hour, sum(requests) AS n
FROM requests_10s
WHERE bucket >= fromUnixTimestamp({first:Int64}) AND bucket < fromUnixTimestamp({last:Int64})
GROUP BY hour
ORDER BY hour
