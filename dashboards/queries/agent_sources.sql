-- Each source of each node's agent: does it answer, what it costs, what it lost in the range.
SELECT
  node,
  attributes['slatag.agent.source'] AS source,
  argMaxIf(value, samples.time, metric = 'slatag.agent.source.success') = 1 AS answers,
  argMaxIf(value, samples.time, metric = 'slatag.agent.source.interval') AS every_s,
  maxIf(value, metric = 'slatag.agent.source.duration') * 1000 AS slowest_ms,
  maxIf(value, metric = 'slatag.agent.source.readings') - minIf(value, metric = 'slatag.agent.source.readings')
    AS readings,
  maxIf(value, metric = 'slatag.agent.source.refused') - minIf(value, metric = 'slatag.agent.source.refused')
    AS refused,
  maxIf(value, metric = 'slatag.agent.source.failures') - minIf(value, metric = 'slatag.agent.source.failures')
    AS failures,
  maxIf(value, metric = 'slatag.agent.source.missed') - minIf(value, metric = 'slatag.agent.source.missed') AS missed
FROM samples
WHERE startsWith(metric, 'slatag.agent.source.') AND $__timeFilter(samples.time) AND <<node_filter>>
GROUP BY node, source
ORDER BY node, source
LIMIT 500
