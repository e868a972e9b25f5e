-- How fast something that only grows grew, a second, for each device: what it gained over the time that it took,
-- series by series. One that starts again from 0 gained what it shows. Of several sources the higher counts.
SELECT
  interval_start AS time,
  place AS name,
  max(of_source) * <<scale>> AS rate
FROM
(
  SELECT interval_start, place, reader, sum(grown) AS of_source
  FROM
  (
    SELECT
      $__timeInterval(read_at) AS interval_start,
      place, reader, series,
      sum(if(value < before, value, value - before)) / (sum(took_us) / 1e6) AS grown
    FROM
    (
      SELECT
        samples.time AS read_at,
        trimRight(concat(node, ' ', device)) AS place,
        attributes['slatag.source'] AS reader,
        cityHash64(attributes) AS series,
        value,
        lagInFrame(toNullable(value)) OVER one AS before,
        dateDiff('microsecond', lagInFrame(toNullable(samples.time)) OVER one, samples.time) AS took_us
      FROM samples
      WHERE metric = '<<metric>>' AND <<matching>> AND $__timeFilter(samples.time) AND <<places>>
      WINDOW one AS (
        PARTITION BY node, device, cityHash64(attributes) ORDER BY samples.time
        ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
    )
    WHERE took_us > 0
    GROUP BY interval_start, place, reader, series
  )
  GROUP BY interval_start, place, reader
)
GROUP BY time, name
ORDER BY time, name
