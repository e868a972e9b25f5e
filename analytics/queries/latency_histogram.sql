-- How many requests took up to how long since the store was made, by what tells them apart.
SELECT
    service, model, operation, engine, $more status, error_type,
    sum(requests) AS requests,
    sumMap(ttft) AS ttft, sumMap(tpot) AS tpot, sumMap(tbt) AS tbt, sumMap(e2e) AS e2e,
    sum(ttft_us) AS ttft_us, sum(tpot_us) AS tpot_us, sum(tbt_us) AS tbt_us, sum(e2e_us) AS e2e_us
FROM latency_histogram
GROUP BY service, model, operation, engine, $more status, error_type
ORDER BY service, model, operation, engine, $more status, error_type
