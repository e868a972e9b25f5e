-- What became of the requests of each stretch of time, under several objectives at once.
SELECT
    $cut AS stretch,
    $columns
FROM requests
WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
  AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
  AND ($where)
GROUP BY stretch
ORDER BY stretch
