-- The range in one row. Quantiles are merged from the 10 s states.
SELECT
  sum(requests) / greatest(dateDiff('second', $__fromTime, $__toTime), 1) AS requests_per_s,
  sum(errors) / sum(requests) AS failed,
  quantileDDMerge(0.01, 0.50)(ttft) / 1000 AS ttft_p50,
  quantileDDMerge(0.01, 0.99)(ttft) / 1000 AS ttft_p99,
  quantileDDMerge(0.01, 0.99)(tpot) / 1000 AS tpot_p99,
  quantileDDMerge(0.01, 0.99)(e2e) / 1000 AS e2e_p99,
  sum(output_tokens) / greatest(dateDiff('second', $__fromTime, $__toTime), 1) AS tokens_per_s
FROM requests_10s
WHERE $__timeFilter(bucket) AND <<requests_filter>>
HAVING sum(requests) > 0
