-- Mean milliseconds per stage of the slowest hundredth of each interval: what is in the tail, not a cause.
SELECT
  interval_start AS time,
  avg(ifNull(ingress_us, 0)) / 1000 AS ingress_ms,
  avg(ifNull(tokenize_us, 0)) / 1000 AS tokenize_ms,
  avg(ifNull(queue_us, 0)) / 1000 AS queue_ms,
  avg(ifNull(kv_init_us, 0)) / 1000 AS kv_init_ms,
  avg(ifNull(prefill_us, 0)) / 1000 AS prefill_ms,
  avg(ifNull(sample_us, 0)) / 1000 AS sample_ms,
  avg(ifNull(egress_us, 0)) / 1000 AS egress_ms,
  avg(ifNull(outside_us, 0)) / 1000 AS outside_ms
FROM (
  SELECT *, $__timeInterval(requests.time) AS interval_start,
    percent_rank() OVER (PARTITION BY interval_start ORDER BY ttft_us) AS standing
  FROM requests
  WHERE $__timeFilter(time)
  AND service IN (${service:singlequote}) AND model IN (${model:singlequote})
  AND tenant IN (${tenant:singlequote}) AND node IN (${node:singlequote}) AND ttft_us IS NOT NULL
)
WHERE standing >= 0.99
GROUP BY time ORDER BY time
