-- Mean milliseconds per stage of the slowest hundredth of each interval: what is in the tail, not a cause. A stage
-- that a source does not report is in `outside`, so the parts add up to the mean TTFT of those requests.
SELECT
  interval_start AS time,
  avgWeighted(ifNull(ingress_us, 0), weight) / 1000 AS ingress,
  avgWeighted(ifNull(tokenize_us, 0), weight) / 1000 AS tokenize,
  avgWeighted(ifNull(queue_us, 0), weight) / 1000 AS queue,
  avgWeighted(ifNull(kv_init_us, 0), weight) / 1000 AS kv_init,
  avgWeighted(ifNull(prefill_us, 0), weight) / 1000 AS prefill,
  avgWeighted(ifNull(sample_us, 0), weight) / 1000 AS sample,
  avgWeighted(ifNull(egress_us, 0), weight) / 1000 AS egress,
  avgWeighted(ifNull(outside_us, 0), weight) / 1000 AS outside
FROM
(
  SELECT
    interval_start, weight,
    ingress_us, tokenize_us, queue_us, kv_init_us, prefill_us, sample_us, egress_us, outside_us,
    sum(weight) OVER (PARTITION BY interval_start ORDER BY ttft_us) AS upto,
    sum(weight) OVER (PARTITION BY interval_start) AS whole
  FROM
  (
    SELECT
      $__timeInterval(requests.time) AS interval_start, weight, ttft_us,
      ingress_us, tokenize_us, queue_us, kv_init_us, prefill_us, sample_us, egress_us, outside_us
    FROM requests
    WHERE $__timeFilter(requests.time) AND <<requests_filter>> AND isNotNull(ttft_us)
  )
)
WHERE upto > 0.99 * whole
GROUP BY time
ORDER BY time
