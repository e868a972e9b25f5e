-- Rows, and rows above their limit, for every combination of dimensions and block of time: all that the
-- slice scan needs of a window, however many requests it has.
SELECT
    $dimensions
    block,
    sum(weight) AS n,
    sumIf(weight, value > row_limit) AS exceed
FROM
(
    SELECT
        $dimensions
        weight,
        intDiv(toUnixTimestamp64Micro(time) - {from_us:Int64}, {block_us:Int64}) AS block,
        toFloat64(assumeNotNull($value)) AS value,
        $limit AS row_limit
    FROM requests
    WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
      AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
      AND $where
      AND $values > 0
)
WHERE row_limit >= 0
GROUP BY $dimensions block
ORDER BY $dimensions block
