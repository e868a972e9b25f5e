-- Reports of a span, the latest first. With `tenants` those alone whose condition names nobody else.
SELECT
    toUnixTimestamp64Micro(time) AS at_us,
    toUnixTimestamp64Micro(onset) AS onset_us,
    incident, state, service, model, metric, quantile, where, verdict, layer, delta_ms, hash
FROM reports
WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
  AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
  AND ({service:String} = '' OR service = {service:String})
  AND ({incident:String} = '' OR incident = {incident:String})
  AND ({state:String} = '' OR state = {state:String})
  AND (empty({tenants:Array(String)})
       OR hasAll({tenants:Array(String)}, splitByChar(',', reports.where['tenant'])))
  AND $after
ORDER BY at_us DESC, incident DESC, hash DESC, toString((state, service, model, metric, quantile, where, verdict, layer, delta_ms))
LIMIT {most:UInt64} OFFSET {skip:UInt64}
