-- Every span of the trace, as the panel of traces wants them.
SELECT
  TraceId AS traceID,
  SpanId AS spanID,
  ParentSpanId AS parentSpanID,
  ServiceName AS serviceName,
  SpanName AS operationName,
  toUnixTimestamp64Micro(toDateTime64(Timestamp, 6, 'UTC')) / 1000 AS startTime,
  Duration / 1e6 AS duration,
  arrayMap(key -> map('key', key, 'value', SpanAttributes[key]), mapKeys(SpanAttributes)) AS tags,
  arrayMap(key -> map('key', key, 'value', ResourceAttributes[key]), mapKeys(ResourceAttributes)) AS serviceTags
FROM otel_traces
WHERE TraceId = ${trace:singlequote}
ORDER BY startTime
LIMIT 1000
