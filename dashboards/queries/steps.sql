-- The engine's own steps: how long one takes, how full the batch and the KV cache are, how many wait.
SELECT
  $__timeInterval(steps.time) AS interval_start,
  quantileExact(0.99)(duration_us) / 1000 AS step_p99_ms,
  avg(batch_size) AS batch_size,
  max(kv_usage) * 100 AS kv_cache_percent,
  max(waiting) AS waiting
FROM steps
WHERE $__timeFilter(steps.time) AND service IN (${service:singlequote}) AND node IN (${node:singlequote})
GROUP BY interval_start ORDER BY interval_start
