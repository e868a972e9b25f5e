-- Over the dimensions that are not asked for.
SELECT
    toInt64(toUnixTimestamp($bucket)) AS start,
    $dimensions
    sum(requests) AS arrived,
    quantileDDMergeState(0.01, 0.5)($state) AS state
FROM $table
WHERE $bucket >= fromUnixTimestamp({first:Int64} - {window:Int64})
  AND $bucket < fromUnixTimestamp({last:Int64})
  AND $where
GROUP BY $dimensions start
