-- Its latencies, in ms.
SELECT ttft_us / 1000 AS ttft, tpot_us / 1000 AS tpot, e2e_us / 1000 AS e2e, gap_max_us / 1000 AS longest_gap
FROM requests
WHERE <<this_trace>>
ORDER BY requests.time
LIMIT 1
