SELECT service, model, metric, incident, toFloat64(1) AS open
FROM
(
    SELECT
        incident, any(service) AS service, any(model) AS model, any(metric) AS metric,
        argMax(toString(state), time) AS state
    FROM reports
    WHERE time >= now64(6) - INTERVAL 2 HOUR AND where['slo'] = ''
    GROUP BY incident
)
WHERE state = 'open'
ORDER BY service, model, metric, incident
