-- Each request gives one row a stage; NULL is a stage that was not observed.
SELECT
    $dimensions
    stage,
    count() AS requests,
    count(us) AS observed,
    sum(us) / 1000 AS total_ms,
    arrayMap(x -> x / 1000, quantilesDD(0.01, 0.5, 0.99)(us)) AS quantiles_ms
FROM
(
    SELECT $dimensions stage, us
    FROM requests
    ARRAY JOIN $names AS stage, $columns AS us
    WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
      AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
      AND $where
      AND $values > 0
)
GROUP BY $dimensions stage
