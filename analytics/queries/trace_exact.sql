-- One request by the whole of one of its names.
SELECT *, toUnixTimestamp64Micro(time) AS time_us
FROM requests
WHERE (trace_id = {hex:String} OR span_id = {hex:String} OR request_id = {text:String}) AND $where
ORDER BY time DESC
LIMIT {limit:UInt32}
