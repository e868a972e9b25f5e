-- Share of prompt tokens found in the prefix cache, of requests that say how many were.
SELECT
  $__timeInterval(requests.time) AS time,
  sum(assumeNotNull(cached_tokens) * weight) / sum(prompt_tokens * weight) AS found
FROM requests
WHERE $__timeFilter(requests.time) AND <<requests_filter>> AND isNotNull(cached_tokens) AND prompt_tokens > 0
GROUP BY time
ORDER BY time
