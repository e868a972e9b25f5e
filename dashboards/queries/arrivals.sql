-- Rows a second in each table, by their own times.
SELECT
  interval_start AS time,
  sumIf(count, kind = 'spans') / $__interval_s AS spans,
  sumIf(count, kind = 'requests') / $__interval_s AS requests,
  sumIf(count, kind = 'steps') / $__interval_s AS steps,
  sumIf(count, kind = 'samples') / $__interval_s AS samples,
  sumIf(count, kind = 'logs') / $__interval_s AS logs
FROM
(
  SELECT 'spans' AS kind, $__timeInterval(Timestamp) AS interval_start, count() AS count
  FROM otel_traces WHERE $__timeFilter(Timestamp) GROUP BY interval_start
  UNION ALL
  SELECT 'requests' AS kind, $__timeInterval(requests.time) AS interval_start, count() AS count
  FROM requests WHERE $__timeFilter(requests.time) GROUP BY interval_start
  UNION ALL
  SELECT 'steps' AS kind, $__timeInterval(steps.time) AS interval_start, count() AS count
  FROM steps WHERE $__timeFilter(steps.time) GROUP BY interval_start
  UNION ALL
  SELECT 'samples' AS kind, $__timeInterval(samples.time) AS interval_start, count() AS count
  FROM samples WHERE $__timeFilter(samples.time) GROUP BY interval_start
  UNION ALL
  SELECT 'logs' AS kind, $__timeInterval(Timestamp) AS interval_start, count() AS count
  FROM otel_logs WHERE $__timeFilter(Timestamp) GROUP BY interval_start
)
GROUP BY time
ORDER BY time WITH FILL STEP $__interval_s
