-- Log records of one trace around the request: by the record's own trace id, or by what a program wrote beside it.
SELECT
    intDiv(toUnixTimestamp64Nano(Timestamp), 1000) AS time_us,
    SpanId AS span_id,
    SeverityText AS severity,
    ServiceName AS service,
    if(LogAttributes['logger'] != '', LogAttributes['logger'], ScopeName) AS logger,
    Body AS body,
    ResourceAttributes['host.name'] AS node
FROM otel_logs
WHERE (TraceId = {trace:String} OR LogAttributes['trace_id'] = {trace:String})
  AND Timestamp BETWEEN fromUnixTimestamp64Micro({from_us:Int64}) AND fromUnixTimestamp64Micro({to_us:Int64})
ORDER BY Timestamp, service, body
LIMIT {limit:UInt32}
