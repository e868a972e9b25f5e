-- What `otel-attrib watch` found: the latest state of each incident that began in the range.
SELECT
  any(onset) AS began,
  argMax(state, reports.time) AS state,
  any(service) AS service,
  any(model) AS model,
  argMax(metric, reports.time) AS metric,
  argMax(verdict, reports.time) AS verdict,
  argMax(layer, reports.time) AS layer,
  argMax(delta_ms, reports.time) AS delta_ms,
  incident
FROM reports
WHERE $__timeFilter(onset) AND <<service_filter>>
GROUP BY incident
ORDER BY began DESC
LIMIT 100
