-- Values per column and bin, from the rows themselves; the bins are those of requests_60s.
SELECT
    intDiv(at_us, {step:Int64} * 1000000) AS at,
    toUInt8(least(239., 20 * log10(greatest(1., value)))) AS bin,
    toInt64(sum(weight)) AS n
FROM
(
    SELECT
        toUnixTimestamp64Micro(time) - {first:Int64} * 1000000 AS at_us,
        weight,
        toFloat64(assumeNotNull($value)) AS value
    FROM requests
    WHERE time >= fromUnixTimestamp64Micro({first:Int64} * 1000000, 'UTC')
      AND time < fromUnixTimestamp64Micro({last:Int64} * 1000000, 'UTC')
      AND $where
      AND $values > 0
)
GROUP BY at, bin
ORDER BY at, bin
