-- Sliding quantile from the 10 s states. A state is merged over the dimensions not asked for before it
-- is handed to each window that it falls in: arrayJoin over 30 small states beats a window function
-- over them 60 times.
SELECT
    window_end,
    $dimensions
    sum(arrived) AS n,
    quantileDDMerge(0.01, {level:Float64})(state) / 1000 AS ms
FROM
(
    SELECT
        $dimensions
        arrived,
        state,
        arrayJoin(range(
            (intDiv(start, {step:Int64}) + 1) * {step:Int64},
            start + {window:Int64} + 1,
            {step:Int64})) AS window_end
    FROM
    (
        SELECT
            toInt64(toUnixTimestamp(bucket)) AS start,
            $dimensions
            sum(requests) AS arrived,
            quantileDDMergeState(0.01, 0.5)($state) AS state
        FROM requests_10s
        WHERE bucket >= fromUnixTimestamp({first:Int64} - {window:Int64})
          AND bucket < fromUnixTimestamp({last:Int64})
          AND $where
        GROUP BY $dimensions start
    )
)
WHERE window_end > {first:Int64} AND window_end <= {last:Int64}
GROUP BY $dimensions window_end
ORDER BY $dimensions window_end
