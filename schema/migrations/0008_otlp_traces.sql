-- The way in: export requests as they came over the wire, one row each, never stored. ClickHouse's own
-- Protobuf reader decodes them by schema/otlp_traces.proto, whose fields these columns mirror.
CREATE TABLE IF NOT EXISTS otlp_traces $on_cluster
(
    resource_spans Array(Tuple(
        resource Tuple(attributes $attributes_type),
        scope_spans Array(Tuple(
            scope Tuple(name String, version String),
            spans Array(Tuple(
                trace_id String,
                span_id String,
                trace_state String,
                parent_span_id String,
                name String,
                kind Int32,
                start_time_unix_nano UInt64,
                end_time_unix_nano UInt64,
                attributes $attributes_type,
                events Array(Tuple(
                    time_unix_nano UInt64,
                    name String,
                    attributes $attributes_type)),
                links Array(Tuple(
                    trace_id String,
                    span_id String,
                    trace_state String,
                    attributes $attributes_type)),
                status Tuple(message String, code Int32)))))))
)
ENGINE = Null;

CREATE MATERIALIZED VIEW IF NOT EXISTS otlp_traces_mv $on_cluster
TO otel_traces$local AS
WITH
$any_value
SELECT
    fromUnixTimestamp64Nano(toInt64(span.start_time_unix_nano)) AS Timestamp,
    lower(hex(span.trace_id)) AS TraceId,
    lower(hex(span.span_id)) AS SpanId,
    lower(hex(span.parent_span_id)) AS ParentSpanId,
    span.trace_state AS TraceState,
    span.name AS SpanName,
    transform(span.kind, [0, 1, 2, 3, 4, 5],
        ['Unspecified', 'Internal', 'Server', 'Client', 'Producer', 'Consumer'], '') AS SpanKind,
    ResourceAttributes['service.name'] AS ServiceName,
    ResourceAttributes,
    ScopeName,
    ScopeVersion,
    map_of(span.attributes) AS SpanAttributes,
    -- A clock set back in between gives an end before the start, which would wrap around.
    if(span.end_time_unix_nano > span.start_time_unix_nano,
        span.end_time_unix_nano - span.start_time_unix_nano, 0) AS Duration,
    transform(span.status.code, [0, 1, 2], ['Unset', 'Ok', 'Error'], '') AS StatusCode,
    span.status.message AS StatusMessage,
    arrayMap(at -> fromUnixTimestamp64Nano(toInt64(at)), span.events.time_unix_nano) AS `Events.Timestamp`,
    span.events.name AS `Events.Name`,
    arrayMap(attributes -> flat_map_of(attributes), span.events.attributes) AS `Events.Attributes`,
    arrayMap(id -> lower(hex(id)), span.links.trace_id) AS `Links.TraceId`,
    arrayMap(id -> lower(hex(id)), span.links.span_id) AS `Links.SpanId`,
    span.links.trace_state AS `Links.TraceState`,
    arrayMap(attributes -> flat_map_of(attributes), span.links.attributes) AS `Links.Attributes`
FROM
(
    SELECT
        map_of(resource_span.resource.attributes) AS ResourceAttributes,
        scope_span.scope.name AS ScopeName,
        scope_span.scope.version AS ScopeVersion,
        arrayJoin(scope_span.spans) AS span
    FROM
    (
        SELECT arrayJoin(resource_spans) AS resource_span, arrayJoin(resource_span.scope_spans) AS scope_span
        FROM otlp_traces
    )
);
