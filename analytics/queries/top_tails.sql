-- The slowest requests of each group, with their stages and weights, and how many the group has.
SELECT $dimensions value, parts, weight, n
FROM
(
    SELECT
        $dimensions
        toFloat64(assumeNotNull($value)) AS value,
        $parts AS parts,
        trace_id,
        weight,
        sum(weight) OVER (PARTITION BY $partition) AS n
    FROM requests
    WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
      AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
      AND $where
      AND $values > 0
)
ORDER BY value DESC, trace_id
LIMIT {most:UInt64} BY $partition
