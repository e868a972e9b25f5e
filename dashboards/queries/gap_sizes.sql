-- The gaps between its tokens in any order, each within 1 % where only their sketch was recorded.
SELECT arrayJoin(gaps_us) / 1000 AS gap
FROM requests
WHERE <<this_trace>>
