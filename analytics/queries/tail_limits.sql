-- The values between which every row lies that can weigh anything. Approximate is enough: the rows
-- fetched next carry their own counts.
SELECT
    quantileExact({low_level:Float64})(value) AS low,
    quantileExact({high_level:Float64})(value) AS high
FROM
(
    SELECT toFloat64(assumeNotNull($value)) AS value
    FROM requests
    WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
      AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
      AND $where
      AND $values > 0
)
