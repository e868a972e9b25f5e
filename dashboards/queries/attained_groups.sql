-- The same for each <<column>>, the least first.
SELECT
  <<column>>,
  sumIf(weight, (<<good_joint>>) OR (<<bad_joint>>)) AS requests,
  sumIf(weight, <<good_joint>>) / requests AS joint_share,
  sumIf(weight, <<good_ttft>>) / sumIf(weight, (<<good_ttft>>) OR (<<bad_ttft>>)) AS ttft_share,
  sumIf(weight, <<good_tpot>>) / sumIf(weight, (<<good_tpot>>) OR (<<bad_tpot>>)) AS tpot_share,
  sumIf(weight, <<bad_joint>>) AS bad
FROM requests
WHERE $__timeFilter(requests.time) AND <<requests_filter>>
GROUP BY <<column>>
HAVING requests > 0
ORDER BY joint_share
LIMIT 200
