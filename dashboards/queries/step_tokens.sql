-- Tokens that the engines computed a second.
SELECT
  $__timeInterval(steps.time) AS time,
  sum(prefill_tokens) / $__interval_s AS prefill,
  sum(decode_tokens) / $__interval_s AS decode
FROM steps
WHERE $__timeFilter(steps.time) AND <<steps_filter>>
GROUP BY time
ORDER BY time WITH FILL STEP $__interval_s
