-- Sliding quantile from 10 s states: each state is handed to every window that it falls in and merged
-- there. arrayJoin over 30 small states beats a window function over them 60 times.
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
            greatest(intDiv(start, {step:Int64}), intDiv({first:Int64}, {step:Int64})) * {step:Int64} + {step:Int64},
            least(start + {window:Int64}, {last:Int64}) + 1,
            {step:Int64})) AS window_end
    FROM ($states)
)
WHERE window_end > {first:Int64} AND window_end <= {last:Int64}
GROUP BY $dimensions window_end
ORDER BY $dimensions window_end
