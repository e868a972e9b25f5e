-- A figure that the agents keep of each of their sources, at its worst over the nodes.
SELECT
  $__timeInterval(samples.time) AS time,
  attributes['slatag.agent.source'] AS name,
  <<worst>>(value) AS value
FROM samples
WHERE metric = '<<metric>>' AND $__timeFilter(samples.time) AND <<node_filter>>
GROUP BY time, name
ORDER BY time, name
