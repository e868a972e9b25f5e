-- Requests that were preempted, and how often, a second.
SELECT
  $__timeInterval(requests.time) AS time,
  sumIf(weight, preemptions > 0) / $__interval_s AS requests,
  sum(assumeNotNull(preemptions) * weight) / $__interval_s AS preemptions_per_s
FROM requests
WHERE $__timeFilter(requests.time) AND <<requests_filter>> AND isNotNull(preemptions)
GROUP BY time
ORDER BY time WITH FILL STEP $__interval_s
