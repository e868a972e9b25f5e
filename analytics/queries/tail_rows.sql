-- One statement, hence one snapshot: the rows between two values with their stages, and for every
-- block how many rows it has in all and below those fetched.
SELECT
    slice,
    node_group,
    count() AS size,
    countIf(value < {low:Float64}) AS below,
    groupArrayIf(tuple(value, parts, trace_id), value >= {low:Float64} AND value <= {high:Float64}) AS fetched
FROM
(
    SELECT
        intDiv(toUnixTimestamp64Micro(time) - {from_us:Int64}, {slice_us:Int64}) AS slice,
        cityHash64(node) % {node_groups:UInt64} AS node_group,
        toFloat64(assumeNotNull($value)) AS value,
        $parts AS parts,
        trace_id
    FROM requests
    WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
      AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
      AND $where
      AND $values > 0
)
GROUP BY slice, node_group
ORDER BY slice, node_group
