-- P99 of <<metric>> for each <<column>>, of the ten with the most requests.
SELECT
  $__timeInterval(bucket) AS time,
  <<column>> AS name,
  quantileDDMerge(0.01, 0.99)(<<metric>>) / 1000 AS p99
FROM requests_10s
WHERE $__timeFilter(bucket) AND <<requests_filter>>
  AND <<column>> IN
  (
    SELECT <<column>> FROM requests_10s
    WHERE $__timeFilter(bucket) AND <<requests_filter>>
    GROUP BY <<column>>
    ORDER BY sum(requests) DESC
    LIMIT 10
  )
GROUP BY time, name
HAVING NOT isNaN(p99)
ORDER BY time, name
