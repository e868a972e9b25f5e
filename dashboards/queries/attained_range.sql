-- The range as one: good of judged requests, and what is left of the budget that the target allows.
SELECT
  good / judged AS joint,
  good_ttft / judged_ttft AS ttft,
  good_tpot / judged_tpot AS tpot,
  1 - (1 - joint) / (1 - toFloat64OrZero(${target:singlequote})) AS budget_left,
  judged AS requests
FROM
(
  SELECT
    sumIf(weight, <<good_joint>>) AS good,
    sumIf(weight, (<<good_joint>>) OR (<<bad_joint>>)) AS judged,
    sumIf(weight, <<good_ttft>>) AS good_ttft,
    sumIf(weight, (<<good_ttft>>) OR (<<bad_ttft>>)) AS judged_ttft,
    sumIf(weight, <<good_tpot>>) AS good_tpot,
    sumIf(weight, (<<good_tpot>>) OR (<<bad_tpot>>)) AS judged_tpot
  FROM requests
  WHERE $__timeFilter(requests.time) AND <<requests_filter>>
)
WHERE judged > 0
