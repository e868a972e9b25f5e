-- The slowest first tokens of the range, with the trace to open.
SELECT
  requests.time AS arrived,
  trace_id,
  model,
  tenant,
  node,
  status,
  ttft_us / 1000 AS ttft_ms,
  queue_us / 1000 AS queue_ms,
  prefill_us / 1000 AS prefill_ms,
  tpot_us / 1000 AS tpot_ms,
  prompt_tokens,
  cached_tokens,
  output_tokens,
  preemptions,
  toUnixTimestamp64Milli(toDateTime64(requests.time, 3, 'UTC')) - 60000 AS from_ms,
  toUnixTimestamp64Milli(toDateTime64(requests.time, 3, 'UTC')) + 60000
    + toInt64(ifNull(e2e_us, assumeNotNull(ttft_us)) / 1000) AS to_ms
FROM requests
WHERE $__timeFilter(requests.time) AND <<requests_filter>> AND isNotNull(ttft_us)
ORDER BY ttft_us DESC
LIMIT 20
