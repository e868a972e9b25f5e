-- Requests whose trace or request id begins like this.
SELECT *, toUnixTimestamp64Micro(time) AS time_us
FROM requests
WHERE (startsWith(trace_id, {hex:String}) OR startsWith(request_id, {text:String})) AND $where
ORDER BY time DESC
LIMIT {limit:UInt32}
