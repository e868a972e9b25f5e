-- Requests and failures a second.
SELECT
  $__timeInterval(bucket) AS time,
  sum(requests) / $__interval_s AS requests_per_s,
  sum(errors) / $__interval_s AS failures_per_s
FROM requests_10s
WHERE $__timeFilter(bucket)
  AND service IN (${service:singlequote}) AND model IN (${model:singlequote})
  AND tenant IN (${tenant:singlequote}) AND node IN (${node:singlequote})
GROUP BY time ORDER BY time
