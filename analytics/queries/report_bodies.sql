-- All that was said of incidents that begin so, the latest first. With `tenants` only where it speaks of nobody else.
SELECT
    toUnixTimestamp64Micro(time) AS at_us,
    toUnixTimestamp64Micro(onset) AS onset_us,
    incident, state, service, model, metric, quantile, where, verdict, layer, delta_ms, hash, report
FROM reports
WHERE startsWith(incident, {incident:String})
  AND (empty({tenants:Array(String)})
       OR hasAll({tenants:Array(String)}, splitByChar(',', reports.where['tenant'])))
ORDER BY at_us DESC, hash DESC
LIMIT {most:UInt64}
