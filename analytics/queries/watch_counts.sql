-- Requests that ended in each second, and how many of them were slower than their like used to be. By the
-- end, not by the arrival: at the arrival nobody knows yet, and the slow ones would be counted last.
SELECT
    toString(service) AS service,
    toString(model) AS model,
    toInt64(floor(ended_us / 1000000)) AS second,
    sum(weight) AS n,
    sumIf(weight, value > row_limit) AS exceed
FROM
(
    SELECT
        service,
        model,
        weight,
        toUnixTimestamp64Micro(time) + ifNull(e2e_us, 0) AS ended_us,
        toFloat64(assumeNotNull($value)) AS value,
        $limit AS row_limit
    FROM requests
    WHERE time >= fromUnixTimestamp64Micro({from_us:Int64} - {longest_us:Int64}, 'UTC')
      AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
      AND $where
      AND $values > 0
)
WHERE row_limit >= 0 AND ended_us >= {from_us:Int64} AND ended_us < {to_us:Int64}
GROUP BY service, model, second
ORDER BY service, model, second
