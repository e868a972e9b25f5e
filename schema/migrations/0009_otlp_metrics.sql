-- Metric export requests as they came over the wire, one row each, never stored; see otlp_traces.
CREATE TABLE IF NOT EXISTS otlp_metrics $on_cluster
(
    resource_metrics Array(Tuple(
        resource Tuple(attributes $attributes_type),
        scope_metrics Array(Tuple(
            scope Tuple(name String, version String, attributes $attributes_type, dropped_attributes_count UInt32),
            metrics Array(Tuple(
                name String,
                description String,
                unit String,
                gauge Tuple(data_points Array($number_point_type)),
                sum Tuple(
                    data_points Array($number_point_type), aggregation_temporality Int32, is_monotonic Bool),
                histogram Tuple(
                    data_points Array($histogram_point_type), aggregation_temporality Int32),
                exponential_histogram Tuple(
                    data_points Array($exp_histogram_point_type), aggregation_temporality Int32),
                summary Tuple(data_points Array($summary_point_type)))),
            schema_url String)),
        schema_url String))
)
ENGINE = Null;

-- One row a metric on its way from there to the tables of its kind, never stored either: what belongs
-- to a resource, a scope or a metric is converted once, for all five kinds.
CREATE TABLE IF NOT EXISTS otlp_metric_rows $on_cluster
(
    ResourceAttributes Map(LowCardinality(String), String),
    ResourceSchemaUrl String,
    ScopeName String,
    ScopeVersion String,
    ScopeAttributes Map(LowCardinality(String), String),
    ScopeDroppedAttrCount UInt32,
    ScopeSchemaUrl String,
    ServiceName String,
    MetricName String,
    MetricDescription String,
    MetricUnit String,
    AggregationTemporality Int32,
    IsMonotonic Bool,
    gauge_points Array($number_point_type),
    sum_points Array($number_point_type),
    histogram_points Array($histogram_point_type),
    exp_histogram_points Array($exp_histogram_point_type),
    summary_points Array($summary_point_type)
)
ENGINE = Null;

CREATE MATERIALIZED VIEW IF NOT EXISTS otlp_metrics_mv $on_cluster
TO otlp_metric_rows AS
WITH
$any_value
SELECT
    ResourceAttributes,
    ResourceSchemaUrl,
    ScopeName,
    ScopeVersion,
    ScopeAttributes,
    ScopeDroppedAttrCount,
    ScopeSchemaUrl,
    ResourceAttributes['service.name'] AS ServiceName,
    metric.name AS MetricName,
    metric.description AS MetricDescription,
    metric.unit AS MetricUnit,
    -- Only the kind that the metric is of has another than zero.
    metric.sum.aggregation_temporality + metric.histogram.aggregation_temporality
        + metric.exponential_histogram.aggregation_temporality AS AggregationTemporality,
    metric.sum.is_monotonic AS IsMonotonic,
    metric.gauge.data_points AS gauge_points,
    metric.sum.data_points AS sum_points,
    metric.histogram.data_points AS histogram_points,
    metric.exponential_histogram.data_points AS exp_histogram_points,
    metric.summary.data_points AS summary_points
FROM
(
    SELECT
        ResourceAttributes, ResourceSchemaUrl, ScopeName, ScopeVersion, ScopeAttributes,
        ScopeDroppedAttrCount, ScopeSchemaUrl, arrayJoin(metrics) AS metric
    FROM
    (
        SELECT
            ResourceAttributes,
            ResourceSchemaUrl,
            scope_metric.scope.name AS ScopeName,
            scope_metric.scope.version AS ScopeVersion,
            flat_map_of(scope_metric.scope.attributes) AS ScopeAttributes,
            scope_metric.scope.dropped_attributes_count AS ScopeDroppedAttrCount,
            scope_metric.schema_url AS ScopeSchemaUrl,
            scope_metric.metrics AS metrics
        FROM
        (
            SELECT ResourceAttributes, ResourceSchemaUrl, arrayJoin(scope_metrics) AS scope_metric
            FROM
            (
                SELECT
                    map_of(resource_metric.resource.attributes) AS ResourceAttributes,
                    resource_metric.schema_url AS ResourceSchemaUrl,
                    resource_metric.scope_metrics AS scope_metrics
                FROM (SELECT arrayJoin(resource_metrics) AS resource_metric FROM otlp_metrics)
            )
        )
    )
);

CREATE MATERIALIZED VIEW IF NOT EXISTS otlp_metrics_gauge_mv $on_cluster
TO otel_metrics_gauge$local AS
WITH
$any_value
SELECT
$point_columns,
    coalesce(point.as_double, toFloat64(point.as_int), 0) AS Value,
$exemplar_columns
FROM (SELECT *, arrayJoin(gauge_points) AS point FROM otlp_metric_rows);

CREATE MATERIALIZED VIEW IF NOT EXISTS otlp_metrics_sum_mv $on_cluster
TO otel_metrics_sum$local AS
WITH
$any_value
SELECT
$point_columns,
    coalesce(point.as_double, toFloat64(point.as_int), 0) AS Value,
    AggregationTemporality,
    IsMonotonic,
$exemplar_columns
FROM (SELECT *, arrayJoin(sum_points) AS point FROM otlp_metric_rows);

CREATE MATERIALIZED VIEW IF NOT EXISTS otlp_metrics_histogram_mv $on_cluster
TO otel_metrics_histogram$local AS
WITH
$any_value
SELECT
$point_columns,
    point.count AS Count,
    point.sum AS Sum,
    point.bucket_counts AS BucketCounts,
    point.explicit_bounds AS ExplicitBounds,
    point.min AS Min,
    point.max AS Max,
    AggregationTemporality,
$exemplar_columns
FROM (SELECT *, arrayJoin(histogram_points) AS point FROM otlp_metric_rows);

CREATE MATERIALIZED VIEW IF NOT EXISTS otlp_metrics_exp_histogram_mv $on_cluster
TO otel_metrics_exp_histogram$local AS
WITH
$any_value
SELECT
$point_columns,
    point.count AS Count,
    point.sum AS Sum,
    point.scale AS Scale,
    point.zero_count AS ZeroCount,
    point.positive.offset AS PositiveOffset,
    point.positive.bucket_counts AS PositiveBucketCounts,
    point.negative.offset AS NegativeOffset,
    point.negative.bucket_counts AS NegativeBucketCounts,
    point.min AS Min,
    point.max AS Max,
    AggregationTemporality,
$exemplar_columns
FROM (SELECT *, arrayJoin(exp_histogram_points) AS point FROM otlp_metric_rows);

CREATE MATERIALIZED VIEW IF NOT EXISTS otlp_metrics_summary_mv $on_cluster
TO otel_metrics_summary$local AS
WITH
$any_value
SELECT
$point_columns,
    point.count AS Count,
    point.sum AS Sum,
    point.quantile_values.quantile AS `ValueAtQuantiles.Quantile`,
    point.quantile_values.value AS `ValueAtQuantiles.Value`
FROM (SELECT *, arrayJoin(summary_points) AS point FROM otlp_metric_rows);
