-- Every span of one trace around the request; the time bounds spare the other parts of the table.
SELECT
    intDiv(toUnixTimestamp64Nano(Timestamp), 1000) AS time_us,
    SpanId,
    ParentSpanId,
    SpanName,
    ServiceName,
    ScopeName,
    Duration,
    StatusCode,
    SpanAttributes,
    Events.Name,
    Events.Attributes,
    ResourceAttributes['host.name'] AS node
FROM otel_traces
WHERE TraceId = {trace:String}
  AND Timestamp BETWEEN fromUnixTimestamp64Micro({from_us:Int64}) AND fromUnixTimestamp64Micro({to_us:Int64})
ORDER BY Timestamp
LIMIT {limit:UInt32}
