-- Values per column and bin, from the minutes.
SELECT
    intDiv(toInt64(toUnixTimestamp(minute)) - {first:Int64}, {step:Int64}) AS at,
    bin,
    toInt64(sum(found)) AS n
FROM requests_60s
ARRAY JOIN $bins.1 AS bin, $bins.2 AS found
WHERE minute >= fromUnixTimestamp({first:Int64})
  AND minute < fromUnixTimestamp({last:Int64})
  AND $where
GROUP BY at, bin
ORDER BY at, bin
