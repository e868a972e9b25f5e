-- What its cards and host did in exactly each of its stages.
SELECT stage, counter, unit, node, device, value, low, high, coverage AS covered_share
FROM request_evidence(trace = ${trace:singlequote})
ORDER BY stage, counter, node, device
