-- P99 and P50 of TPOT per interval, merged from the 10 s states (relative error at most 1 %).
SELECT
  $__timeInterval(bucket) AS time,
  quantileDDMerge(0.01, 0.99)(tpot) / 1000 AS p99_ms,
  quantileDDMerge(0.01, 0.50)(tpot) / 1000 AS p50_ms
FROM requests_10s
WHERE $__timeFilter(bucket)
  AND service IN (${service:singlequote}) AND model IN (${model:singlequote})
  AND tenant IN (${tenant:singlequote}) AND node IN (${node:singlequote})
GROUP BY time ORDER BY time
