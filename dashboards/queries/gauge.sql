-- A level over time for each device. Series of one place that add up (reasons, links, processes) are added, others
-- averaged; of several sources of one counter the higher counts, a sum would count twice.
SELECT
  $__timeInterval(read_at) AS time,
  place AS name,
  avg(level) * <<scale>> AS value
FROM
(
  SELECT read_at, place, max(of_source) AS level
  FROM
  (
    SELECT
      samples.time AS read_at,
      trimRight(concat(node, ' ', device)) AS place,
      attributes['slatag.source'] AS reader,
      <<combine>>(value) AS of_source
    FROM samples
    WHERE metric = '<<metric>>' AND <<matching>> AND $__timeFilter(samples.time) AND <<places>>
    GROUP BY read_at, place, reader
  )
  GROUP BY read_at, place
)
GROUP BY time, name
ORDER BY time, name
