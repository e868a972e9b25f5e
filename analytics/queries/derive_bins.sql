-- Latencies of each endpoint by day and hour (UTC), in logarithmic bins fine enough for a quantile.
SELECT
    toString(service) AS service,
    toString(model) AS model,
    toString(operation) AS operation,
    toUInt32(toDate(time, 'UTC')) AS day,
    toUInt8(toHour(time, 'UTC')) AS hour,
    toInt32(ceil(log(us) * {scale:Float64})) AS bin,
    sum(toUInt64(stands_for)) AS n,
    count() AS held
FROM
(
    SELECT service, model, operation, time, weight AS stands_for, toFloat64(assumeNotNull($value)) AS us
    FROM requests
    WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
      AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
      AND $where
      AND $values > 0
)
WHERE us > 0
GROUP BY service, model, operation, day, hour, bin
ORDER BY service, model, operation, day, hour, bin
