-- The same from the 10 s states that touch the window.
SELECT sum(requests) AS requests, sum(output_tokens) AS tokens
FROM requests_10s
WHERE bucket > fromUnixTimestamp({first:Int64} - 10) AND bucket < fromUnixTimestamp({last:Int64})
  AND $where
