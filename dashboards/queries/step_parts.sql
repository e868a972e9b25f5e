-- Mean milliseconds of a step by what it went to; a part that the engine does not report is absent.
SELECT
  $__timeInterval(steps.time) AS time,
  avg(schedule_us) / 1000 AS schedule,
  avg(forward_us) / 1000 AS forward,
  avg(sample_us) / 1000 AS sample,
  avg(collective_us) / 1000 AS collective,
  avg(copy_us) / 1000 AS copy,
  avg(output_us) / 1000 AS output
FROM steps
WHERE $__timeFilter(steps.time) AND <<steps_filter>>
GROUP BY time
ORDER BY time WITH FILL STEP $__interval_s
