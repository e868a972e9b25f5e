-- Services and models with requests enough to be watched.
SELECT toString(service) AS service, toString(model) AS model
FROM requests
WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
  AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
  AND $where
GROUP BY service, model
HAVING sum(weight) >= {least:UInt32}
ORDER BY service, model
