-- Sliding quantile from the rows themselves: every row goes to each window that it falls in, as often as it
-- counts, and the order statistic at rank floor(level·(n−1))+1 is taken, the one that the sketch approximates.
-- `n` counts requests, `stands_for` how many of them a row at or above the quantile stands for.
SELECT
    window_end,
    $dimensions
    length(counted) AS n,
    (counted[1 + toUInt64(floor({level:Float64} * (n - 1)))] AS us) / 1000 AS ms,
    arrayCount(value -> value >= us, counted) / arrayCount(value -> value >= us, kept) AS stands_for
FROM
(
    SELECT
        window_end,
        $dimensions
        groupArray(value) AS kept,
        groupArray(weight) AS weights,
        arraySort(if(min(weight) = 1 AND max(weight) = 1, kept,
            arrayFlatten(arrayMap((each, times) -> arrayWithConstant(times, each), kept, weights)))) AS counted
    FROM
    (
        SELECT
            $dimensions
            weight,
            value,
            arrayJoin(range(
                greatest(intDiv(at, {step:Int64}), intDiv({first:Int64}, {step:Int64})) * {step:Int64} + {step:Int64},
                least(at + {window:Int64}, {last:Int64}) + 1,
                {step:Int64})) AS window_end
        FROM
        (
            SELECT
                $dimensions
                weight,
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
)
ORDER BY $dimensions window_end
