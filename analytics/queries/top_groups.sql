-- Two windows of equal length side by side, from the 10 s states.
SELECT
    $dimensions
    bucket >= fromUnixTimestamp({middle:Int64}) AS now,
    sum(requests) AS arrived,
    sum(errors) AS failed,
    quantileDDMerge(0.01, 0.5)(ttft) / 1000 AS ttft_p50,
    quantileDDMerge(0.01, 0.99)(ttft) / 1000 AS ttft_p99,
    quantileDDMerge(0.01, 0.5)(tpot) / 1000 AS tpot_p50,
    quantileDDMerge(0.01, 0.99)(tpot) / 1000 AS tpot_p99
FROM requests_10s
WHERE bucket >= fromUnixTimestamp({first:Int64})
  AND bucket < fromUnixTimestamp({last:Int64})
  AND $where
GROUP BY $dimensions now
ORDER BY $dimensions now
