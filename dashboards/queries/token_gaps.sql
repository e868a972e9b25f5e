-- Every gap between two tokens in order, where the whole series was recorded.
SELECT toUInt32(nth) AS token, gap / 1000 AS gap
FROM
(
  SELECT tryBase64Decode(SpanAttributes['slatag.token_timeline']) AS bytes
  FROM otel_traces
  WHERE TraceId = ${trace:singlequote} AND ScopeName = 'otel_attrib.request' AND SpanKind = 'Server'
  ORDER BY Timestamp
  LIMIT 1
)
ARRAY JOIN
  reinterpret(substring(bytes, 1, 4 * intDiv(length(bytes), 4)), 'Array(UInt32)') AS gap,
  arrayEnumerate(reinterpret(substring(bytes, 1, 4 * intDiv(length(bytes), 4)), 'Array(UInt32)')) AS nth
ORDER BY token
