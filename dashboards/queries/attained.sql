-- Share of judged requests that were good, per interval: all limits at once (joint), and each alone (marginal).
SELECT
  $__timeInterval(requests.time) AS time,
  sumIf(weight, <<good_joint>>) / sumIf(weight, (<<good_joint>>) OR (<<bad_joint>>)) AS joint,
  sumIf(weight, <<good_ttft>>) / sumIf(weight, (<<good_ttft>>) OR (<<bad_ttft>>)) AS ttft,
  sumIf(weight, <<good_tpot>>) / sumIf(weight, (<<good_tpot>>) OR (<<bad_tpot>>)) AS tpot
FROM requests
WHERE $__timeFilter(requests.time) AND <<requests_filter>>
GROUP BY time
HAVING isFinite(joint)
ORDER BY time
