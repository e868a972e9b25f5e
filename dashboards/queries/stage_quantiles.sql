-- How long requests were in the stage <<stage>>, by the time they arrived; a row counts as often as its weight says.
SELECT
  $__timeInterval(requests.time) AS time,
  quantileDDArray(0.01, 0.50)(arrayWithConstant(weight, assumeNotNull(<<stage>>_us))) / 1000 AS p50,
  quantileDDArray(0.01, 0.99)(arrayWithConstant(weight, assumeNotNull(<<stage>>_us))) / 1000 AS p99
FROM requests
WHERE $__timeFilter(requests.time) AND <<requests_filter>> AND isNotNull(<<stage>>_us)
GROUP BY time
ORDER BY time
