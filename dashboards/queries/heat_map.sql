-- How many requests took how long, a tenth of a decade a row; a column is named by its upper edge in ms.
SELECT
  interval_start AS time,
  <<columns>>
FROM
(
  SELECT $__timeInterval(minute) AS interval_start, sumMap(<<metric>>_bins) AS bins
  FROM requests_60s
  WHERE $__timeFilter(minute) AND <<requests_filter>>
  GROUP BY interval_start
)
WHERE notEmpty(bins.1)
ORDER BY time
