-- Requests and failures a second; an interval without any is 0.
SELECT
  $__timeInterval(bucket) AS time,
  sum(requests) / $__interval_s AS requests,
  sum(errors) / $__interval_s AS failures
FROM requests_10s
WHERE $__timeFilter(bucket) AND <<requests_filter>>
GROUP BY time
ORDER BY time WITH FILL STEP $__interval_s
