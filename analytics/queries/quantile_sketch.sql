-- Quantiles of a window within 1 %, in one pass that holds no rows.
SELECT quantilesDD(0.01, {low_level:Float64}, {high_level:Float64})(value) AS limits
FROM
(
    SELECT toFloat64(assumeNotNull($value)) AS value
    FROM requests
    WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
      AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
      AND $where
      AND $values > 0
)
