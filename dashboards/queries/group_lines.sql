-- A figure of requests for each <<column>>, of the ten with the most requests.
SELECT
  $__timeInterval(bucket) AS time,
  <<column>> AS name,
  <<amount>> AS value
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
HAVING NOT isNaN(value)
ORDER BY time, name
