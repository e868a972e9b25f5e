-- Each request gives one row a stage; NULL is a stage that was not observed. Requests of one weight are added
-- up first, then as often as they count.
SELECT
    $dimensions
    stage,
    sum(same.requests) AS requests,
    sum(same.observed) AS observed,
    sum(same.total_ms) AS total_ms,
    arrayMap(x -> x / 1000, quantilesDDMerge(0.01, 0.5, 0.99)(same.state)) AS quantiles_ms
FROM
(
    SELECT
        $dimensions
        stage,
        weight,
        count() AS requests,
        count(us) AS observed,
        sum(us) / 1000 AS total_ms,
        quantilesDDState(0.01, 0.5, 0.99)(us) AS state
    FROM
    (
        SELECT $dimensions weight, stage, us
        FROM requests
        ARRAY JOIN $names AS stage, $columns AS us
        WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
          AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
          AND $where
          AND $values > 0
    )
    GROUP BY $dimensions stage, weight
) AS same
ARRAY JOIN range(weight) AS copy
GROUP BY $dimensions stage
