-- Requests that brought a deadline of their own for the first token, and the share that met it.
SELECT
  $__timeInterval(requests.time) AS time,
  sumIf(weight, ifNull(ttft_us <= 1000 * sla_deadline_ms, 0)) / sum(weight) AS met
FROM requests
WHERE $__timeFilter(requests.time) AND <<requests_filter>> AND isNotNull(sla_deadline_ms)
GROUP BY time
ORDER BY time
