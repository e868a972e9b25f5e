-- Quantiles per interval, merged from the 10 s states; NULL where no request had a <<metric>>.
SELECT
  interval_start AS time,
  if(isNaN(q50), NULL, q50 / 1000) AS p50,
  if(isNaN(q95), NULL, q95 / 1000) AS p95,
  if(isNaN(q99), NULL, q99 / 1000) AS p99
FROM
(
  SELECT
    $__timeInterval(bucket) AS interval_start,
    quantileDDMerge(0.01, 0.50)(<<metric>>) AS q50,
    quantileDDMerge(0.01, 0.95)(<<metric>>) AS q95,
    quantileDDMerge(0.01, 0.99)(<<metric>>) AS q99
  FROM requests_10s
  WHERE $__timeFilter(bucket) AND <<requests_filter>>
  GROUP BY interval_start
)
ORDER BY time WITH FILL STEP $__interval_s
