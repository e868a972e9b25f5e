-- What people and machines did to the service within a window; a mark of one tenant only beside its requests.
SELECT time, kind, name, service, attributes
FROM marks
WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
  AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
  AND attributes['tenant'] IN arrayPushBack({tenants:Array(String)}, '')
ORDER BY time, kind, name, service
