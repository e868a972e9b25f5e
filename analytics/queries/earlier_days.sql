-- How many requests, and which quantile, the same clock interval held on each of the days before. Day 0 is
-- the window itself. Its states begin every 10 s, so the ends are within 10 s.
SELECT
    intDiv({to_s:Int64} - 1 - start, 86400) AS days_before,
    sum(arrived) AS requests,
    quantileDDMerge(0.01, {level:Float64})(state) / 1000 AS ms
FROM
(
    SELECT toInt64(toUnixTimestamp(bucket)) AS start, requests AS arrived, $state AS state
    FROM requests_10s
    WHERE bucket >= fromUnixTimestamp(greatest(0, {from_s:Int64} - {days:Int64} * 86400))
      AND bucket < fromUnixTimestamp({to_s:Int64})
      AND $where
)
WHERE ({to_s:Int64} - 1 - start) % 86400 < {to_s:Int64} - {from_s:Int64}
GROUP BY days_before
ORDER BY days_before
