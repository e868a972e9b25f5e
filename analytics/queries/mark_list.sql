-- Marks of a span, the latest first. A mark without a service concerns all services; one without a tenant
-- concerns all tenants.
SELECT toUnixTimestamp64Micro(time) AS at_us, kind, name, service, attributes
FROM marks
WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
  AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
  AND (empty({services:Array(String)}) OR service = '' OR service IN {services:Array(String)})
  AND (empty({kinds:Array(String)}) OR kind IN {kinds:Array(String)})
  AND (empty({tenants:Array(String)}) OR attributes['tenant'] = '' OR attributes['tenant'] IN {tenants:Array(String)})
  AND $after
ORDER BY at_us DESC, kind DESC, name DESC, service DESC, toString(attributes)
LIMIT {most:UInt64} OFFSET {skip:UInt64}
