-- Step time and batch per interval.
SELECT
  $__timeInterval(steps.time) AS time,
  quantileDD(0.01, 0.50)(assumeNotNull(duration_us)) / 1000 AS p50,
  quantileDD(0.01, 0.99)(assumeNotNull(duration_us)) / 1000 AS p99
FROM steps
WHERE $__timeFilter(steps.time) AND <<steps_filter>> AND isNotNull(duration_us)
GROUP BY time
ORDER BY time
