-- How old the newest row of each table is at the end of the range, and how many the range has.
SELECT kind AS what, rows, if(rows = 0, NULL, dateDiff('second', latest, $__toTime)) AS age_s
FROM
(
  SELECT 'spans' AS kind, count() AS rows, toDateTime(max(Timestamp)) AS latest
  FROM otel_traces WHERE $__timeFilter(Timestamp)
  UNION ALL
  SELECT 'requests' AS kind, count() AS rows, toDateTime(max(requests.time)) AS latest
  FROM requests WHERE $__timeFilter(requests.time)
  UNION ALL
  SELECT 'steps' AS kind, count() AS rows, toDateTime(max(steps.time)) AS latest
  FROM steps WHERE $__timeFilter(steps.time)
  UNION ALL
  SELECT 'samples' AS kind, count() AS rows, toDateTime(max(samples.time)) AS latest
  FROM samples WHERE $__timeFilter(samples.time)
  UNION ALL
  SELECT 'logs' AS kind, count() AS rows, toDateTime(max(Timestamp)) AS latest
  FROM otel_logs WHERE $__timeFilter(Timestamp)
)
ORDER BY what
