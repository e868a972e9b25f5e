-- Who asked for how much lately: what is usual, before any factor.
SELECT tenant, sum(requests) AS requests, sum(prompt_tokens) + sum(output_tokens) AS tokens
FROM requests_10s
WHERE bucket >= fromUnixTimestamp({first:Int64}) AND bucket < fromUnixTimestamp({last:Int64}) AND $where
GROUP BY tenant
ORDER BY tenant
