-- One quantile of a window: whole 10 s states, and rows where the window begins or ends within one.
SELECT sum(requests) AS requests, quantileDDMerge(0.01, {level:Float64})(state) AS us
FROM
(
    SELECT sum(requests) AS requests, quantileDDMergeState(0.01, 0.5)($state) AS state
    FROM requests_10s
    WHERE bucket >= fromUnixTimestamp({first:Int64}) AND bucket < fromUnixTimestamp({last:Int64})
      AND $where
    UNION ALL
    SELECT sum(requests) AS requests, quantileDDArrayMergeState(0.01, 0.5)(state) AS state
    FROM
    (
        SELECT weight, count() AS requests, quantileDDArrayState(0.01, 0.5)($values) AS state
        FROM requests
        WHERE (time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
               AND time < fromUnixTimestamp64Micro({whole_from_us:Int64}, 'UTC')
            OR time >= fromUnixTimestamp64Micro({whole_to_us:Int64}, 'UTC')
               AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC'))
          AND $where
        GROUP BY weight
    )
    ARRAY JOIN range(weight) AS copy
)
