-- Each objective over its own window.
SELECT objective, title, target_share, attained_share, budget_left_share
FROM
(
<<rows>>
)
ORDER BY budget_left_share
