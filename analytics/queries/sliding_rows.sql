-- Sliding quantile from the rows themselves: every row goes to each window that it falls in, and the
-- order statistic at rank floor(level·(n−1))+1 is taken, the one that the sketch approximates.
SELECT
    window_end,
    $dimensions
    count() AS n,
    arraySort(groupArray(value))[1 + toUInt64(floor({level:Float64} * (count() - 1)))] / 1000 AS ms
FROM
(
    SELECT
        $dimensions
        value,
        arrayJoin(range(
            (intDiv(at, {step:Int64}) + 1) * {step:Int64},
            at + {window:Int64} + 1,
            {step:Int64})) AS window_end
    FROM
    (
        SELECT
            $dimensions
            toInt64(floor(toUnixTimestamp64Micro(time) / 1000000)) AS at,
            toFloat64(assumeNotNull($value)) AS value
        FROM requests
        WHERE time >= fromUnixTimestamp64Micro(({first:Int64} - {window:Int64}) * 1000000, 'UTC')
          AND time < fromUnixTimestamp64Micro({last:Int64} * 1000000, 'UTC')
          AND $where
          AND $values > 0
    )
)
WHERE window_end > {first:Int64} AND window_end <= {last:Int64}
GROUP BY $dimensions window_end
ORDER BY $dimensions window_end
