-- Deploys and changes from one time up to another, the latest first; a mark without a service, or without a
-- tenant, concerns all.
SELECT toUnixTimestamp64Micro(toDateTime64(time, 6, 'UTC')) AS at_us, kind, name
FROM marks
WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
  AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
  AND ({service:String} = '' OR service IN ('', {service:String}))
  AND (empty({tenants:Array(String)}) OR attributes['tenant'] IN arrayPushBack({tenants:Array(String)}, ''))
ORDER BY time DESC, kind, name
LIMIT {most:UInt64}
