-- The last deploy or change inside a window; a mark without a service concerns all of them.
SELECT toUnixTimestamp64Micro(toDateTime64(time, 6, 'UTC')) AS at_us, kind, name
FROM marks
WHERE time > fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
  AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
  AND ({service:String} = '' OR service IN ('', {service:String}))
ORDER BY time DESC
LIMIT 1
