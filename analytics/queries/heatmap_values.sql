-- How many values a question has to count one by one.
SELECT sum($values) AS n
FROM requests
WHERE time >= fromUnixTimestamp64Micro({first:Int64} * 1000000, 'UTC')
  AND time < fromUnixTimestamp64Micro({last:Int64} * 1000000, 'UTC')
  AND $where
