-- One row per block of time × node: how many requests, how many of them measured, which stages are
-- missing, and the sizes that tell whether the work itself changed.
SELECT
    intDiv(toUnixTimestamp64Micro(time) - {from_us:Int64}, {slice_us:Int64}) AS slice,
    cityHash64(node) % {node_groups:UInt64} AS node_group,
    count() AS requests,
    sum($values) AS measured,
    countIf($expected) AS expected,
    countIf($expected AND $values > 0) AS answered,
    countIf(status != 'ok') AS failed,
    sum(toUInt64(ifNull(prompt_tokens, 0))) AS prompt_total,
    sum(toUInt64(ifNull(output_tokens, 0))) AS output_total,
    sumForEach($missing) AS missing
FROM requests
WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
  AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
  AND $where
GROUP BY slice, node_group
ORDER BY slice, node_group
