-- What became of the requests of each stretch of time, under several objectives at once.
SELECT
    stretch,
    $sums
FROM
(
    SELECT
        $cut AS stretch,
        weight,
        $codes
    FROM requests
    WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
      AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
      AND ($where)
)
GROUP BY stretch
ORDER BY stretch
