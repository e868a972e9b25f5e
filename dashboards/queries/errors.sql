-- Errors that devices counted, by kind, those of the range alone.
SELECT
  node,
  device,
  kind AS error,
  toUInt64(sum(if(value < before, value, value - before))) AS count,
  maxIf(read_at, value != before) AS latest
FROM
(
  SELECT
    samples.time AS read_at, node, device, attributes['error.type'] AS kind, value,
    lagInFrame(toNullable(value)) OVER (
      PARTITION BY node, device, cityHash64(attributes) ORDER BY samples.time
      ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before
  FROM samples
  WHERE metric = 'hw.errors' AND $__timeFilter(samples.time) AND <<node_filter>>
)
WHERE isNotNull(before)
GROUP BY node, device, error
HAVING count > 0
ORDER BY count DESC
LIMIT 200
