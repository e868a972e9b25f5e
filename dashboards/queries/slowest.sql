-- The slowest first tokens of the range, with the trace to open.
SELECT time, trace_id, model, tenant, node, ttft_us / 1000 AS ttft_ms, queue_us / 1000 AS queue_ms,
  prefill_us / 1000 AS prefill_ms, prompt_tokens, cached_tokens, preemptions, status
FROM requests
WHERE $__timeFilter(time)
  AND service IN (${service:singlequote}) AND model IN (${model:singlequote})
  AND tenant IN (${tenant:singlequote}) AND node IN (${node:singlequote}) AND ttft_us IS NOT NULL
ORDER BY ttft_us DESC LIMIT 20
