-- The values between two limits with how often each occurs, and what lies below (-inf) and above (inf).
-- Values that many rows share stay one row here, so the answer is small whatever the table holds.
SELECT multiIf(value < {low:Float64}, -inf, value > {high:Float64}, inf, value) AS us, sum(weight) AS rows
FROM
(
    SELECT toFloat64(assumeNotNull($value)) AS value, weight
    FROM requests
    WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
      AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
      AND $where
      AND $values > 0
)
GROUP BY us
ORDER BY us
