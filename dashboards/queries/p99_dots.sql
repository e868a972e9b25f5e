-- For each interval the request that stands at the P99 of <<metric>>: the fastest of those that reach it.
SELECT
  one.interval_start AS time,
  min(one.us) / 1000 AS at_p99,
  argMin(one.trace, one.us) AS trace_id,
  toUnixTimestamp64Milli(argMin(one.arrived, one.us)) - 60000 AS from_ms,
  toUnixTimestamp64Milli(argMin(one.arrived, one.us)) + 60000 + toInt64(argMin(one.lasted, one.us) / 1000) AS to_ms
FROM
(
  SELECT
    $__timeInterval(requests.time) AS interval_start,
    assumeNotNull(<<metric>>_us) AS us,
    trace_id AS trace,
    toDateTime64(requests.time, 3, 'UTC') AS arrived,
    ifNull(e2e_us, us) AS lasted
  FROM requests
  WHERE $__timeFilter(requests.time) AND <<requests_filter>> AND isNotNull(<<metric>>_us)
) AS one
INNER JOIN
(
  SELECT $__timeInterval(bucket) AS interval_start, quantileDDMerge(0.01, 0.99)(<<metric>>) AS p99
  FROM requests_10s
  WHERE $__timeFilter(bucket) AND <<requests_filter>>
  GROUP BY interval_start
) AS state ON one.interval_start = state.interval_start
WHERE one.us >= 0.99 * state.p99
GROUP BY time
ORDER BY time
