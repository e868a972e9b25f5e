-- A column of the engines' steps for each engine: node and replica.
SELECT
  $__timeInterval(steps.time) AS time,
  trimRight(concat(node, ' ', replica)) AS name,
  <<amount>> AS value
FROM steps
WHERE $__timeFilter(steps.time) AND <<steps_filter>>
GROUP BY time, name
HAVING isNotNull(value)
ORDER BY time, name
