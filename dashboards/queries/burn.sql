-- How fast the budget burns: share of bad requests in the last 5 minutes, hour and 6 hours over what the target allows.
SELECT minute AS time, burn_5m, burn_1h, burn_6h
FROM
(
  SELECT
    minute,
    sum(bad) OVER (ORDER BY minute RANGE BETWEEN 240 PRECEDING AND CURRENT ROW)
      / sum(judged) OVER (ORDER BY minute RANGE BETWEEN 240 PRECEDING AND CURRENT ROW) / budget AS burn_5m,
    sum(bad) OVER (ORDER BY minute RANGE BETWEEN 3540 PRECEDING AND CURRENT ROW)
      / sum(judged) OVER (ORDER BY minute RANGE BETWEEN 3540 PRECEDING AND CURRENT ROW) / budget AS burn_1h,
    sum(bad) OVER (ORDER BY minute RANGE BETWEEN 21540 PRECEDING AND CURRENT ROW)
      / sum(judged) OVER (ORDER BY minute RANGE BETWEEN 21540 PRECEDING AND CURRENT ROW) / budget AS burn_6h
  FROM
  (
    SELECT
      toStartOfMinute(toDateTime(requests.time)) AS minute,
      1 - toFloat64OrZero(${target:singlequote}) AS budget,
      sumIf(weight, <<bad_joint>>) AS bad,
      sumIf(weight, (<<good_joint>>) OR (<<bad_joint>>)) AS judged
    FROM requests
    WHERE requests.time >= $__fromTime - 21600 AND requests.time <= $__toTime AND <<requests_filter>>
    GROUP BY minute
    HAVING judged > 0
  )
)
WHERE minute >= $__fromTime
ORDER BY time
