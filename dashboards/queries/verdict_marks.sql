-- The first verdict of each incident, where its latency began to rise.
SELECT
  any(onset) AS time,
  concat(argMin(metric, reports.time), ' of ', any(service), ': ', argMin(verdict, reports.time)) AS title,
  argMin(layer, reports.time) AS tags,
  concat('+', toString(round(argMin(ifNull(delta_ms, 0), reports.time))), ' ms, incident ', incident) AS text
FROM reports
WHERE $__timeFilter(onset) AND <<service_filter>>
GROUP BY incident
ORDER BY time
