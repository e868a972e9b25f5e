-- One row for each <<column>>, the slowest first.
SELECT
  <<column>>,
  sum(rolled.requests) AS requests,
  sum(rolled.errors) / sum(rolled.requests) AS failed_share,
  sum(rolled.prompt_tokens) / sum(rolled.requests) AS prompt_tokens,
  sum(rolled.output_tokens) / sum(rolled.requests) AS output_tokens,
  quantileDDMerge(0.01, 0.50)(ttft) / 1000 AS ttft_p50_ms,
  quantileDDMerge(0.01, 0.99)(ttft) / 1000 AS ttft_p99_ms,
  quantileDDMerge(0.01, 0.99)(tpot) / 1000 AS tpot_p99_ms,
  quantileDDMerge(0.01, 0.99)(e2e) / 1000 AS e2e_p99_ms
FROM requests_10s AS rolled
WHERE $__timeFilter(bucket) AND <<requests_filter>>
GROUP BY <<column>>
ORDER BY ttft_p99_ms DESC
LIMIT 200
