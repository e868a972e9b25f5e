-- Prompt and output tokens a second, of requests by the time they arrived.
SELECT
  $__timeInterval(bucket) AS time,
  sum(prompt_tokens) / $__interval_s AS prompt,
  sum(output_tokens) / $__interval_s AS output
FROM requests_10s
WHERE $__timeFilter(bucket) AND <<requests_filter>>
GROUP BY time
ORDER BY time WITH FILL STEP $__interval_s
