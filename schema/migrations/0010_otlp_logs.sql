-- Log export requests as they came over the wire, one row each, never stored; see otlp_traces.
CREATE TABLE IF NOT EXISTS otlp_logs $on_cluster
(
    resource_logs Array(Tuple(
        resource Tuple(attributes $attributes_type),
        scope_logs Array(Tuple(
            scope Tuple(name String, version String, attributes $attributes_type),
            log_records Array(Tuple(
                time_unix_nano UInt64,
                observed_time_unix_nano UInt64,
                severity_number Int32,
                severity_text String,
                body $any_value_type,
                attributes $attributes_type,
                flags UInt32,
                trace_id String,
                span_id String,
                event_name String)),
            schema_url String)),
        schema_url String))
)
ENGINE = Null;

CREATE MATERIALIZED VIEW IF NOT EXISTS otlp_logs_mv $on_cluster
TO otel_logs$local AS
WITH
$any_value
SELECT
    -- A record without a time of its own has the one at which it was seen.
    fromUnixTimestamp64Nano(toInt64(
        if(log.time_unix_nano = 0, log.observed_time_unix_nano, log.time_unix_nano))) AS Timestamp,
    lower(hex(log.trace_id)) AS TraceId,
    lower(hex(log.span_id)) AS SpanId,
    toUInt8(bitAnd(log.flags, 255)) AS TraceFlags,
    log.severity_text AS SeverityText,
    if(log.severity_number BETWEEN 0 AND 24, toUInt8(log.severity_number), 0) AS SeverityNumber,
    ResourceAttributes['service.name'] AS ServiceName,
    text_of(log.body.string_value, log.body.bool_value, log.body.int_value, log.body.double_value,
        log.body.array_value, log.body.kvlist_value, log.body.bytes_value) AS Body,
    ResourceSchemaUrl,
    ResourceAttributes,
    ScopeSchemaUrl,
    ScopeName,
    ScopeVersion,
    ScopeAttributes,
    map_of(log.attributes) AS LogAttributes,
    log.event_name AS EventName
FROM
(
    SELECT
        ResourceAttributes, ResourceSchemaUrl, ScopeName, ScopeVersion, ScopeAttributes, ScopeSchemaUrl,
        arrayJoin(log_records) AS log
    FROM
    (
        SELECT
            ResourceAttributes,
            ResourceSchemaUrl,
            scope_log.scope.name AS ScopeName,
            scope_log.scope.version AS ScopeVersion,
            flat_map_of(scope_log.scope.attributes) AS ScopeAttributes,
            scope_log.schema_url AS ScopeSchemaUrl,
            scope_log.log_records AS log_records
        FROM
        (
            SELECT ResourceAttributes, ResourceSchemaUrl, arrayJoin(scope_logs) AS scope_log
            FROM
            (
                SELECT
                    map_of(resource_log.resource.attributes) AS ResourceAttributes,
                    resource_log.schema_url AS ResourceSchemaUrl,
                    resource_log.scope_logs AS scope_logs
                FROM (SELECT arrayJoin(resource_logs) AS resource_log FROM otlp_logs)
            )
        )
    )
);
