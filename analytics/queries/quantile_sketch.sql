-- Quantiles of a window within 1 %, in one pass that holds no rows: values are cut to 8 binary digits.
SELECT quantilesBFloat16Weighted({low_level:Float64}, {high_level:Float64})(value, weight) AS limits
FROM
(
    SELECT toFloat64(assumeNotNull($value)) AS value, weight
    FROM requests
    WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
      AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
      AND $where
      AND $values > 0
)
