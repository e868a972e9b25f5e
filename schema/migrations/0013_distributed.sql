-- only with a cluster
-- The names that people query, over the shards' own tables. Spans of a trace and the requests made from
-- them lie on one shard; what came in on a node stays there.
CREATE TABLE IF NOT EXISTS otel_traces $on_cluster AS otel_traces_local
ENGINE = Distributed('$cluster', currentDatabase(), 'otel_traces_local', cityHash64(TraceId));

CREATE TABLE IF NOT EXISTS otel_traces_trace_id_ts $on_cluster AS otel_traces_trace_id_ts_local
ENGINE = Distributed('$cluster', currentDatabase(), 'otel_traces_trace_id_ts_local', cityHash64(TraceId));

CREATE TABLE IF NOT EXISTS otel_metrics_gauge $on_cluster AS otel_metrics_gauge_local
ENGINE = Distributed('$cluster', currentDatabase(), 'otel_metrics_gauge_local', cityHash64(MetricName));

CREATE TABLE IF NOT EXISTS otel_metrics_sum $on_cluster AS otel_metrics_sum_local
ENGINE = Distributed('$cluster', currentDatabase(), 'otel_metrics_sum_local', cityHash64(MetricName));

CREATE TABLE IF NOT EXISTS otel_metrics_histogram $on_cluster AS otel_metrics_histogram_local
ENGINE = Distributed('$cluster', currentDatabase(), 'otel_metrics_histogram_local', cityHash64(MetricName));

CREATE TABLE IF NOT EXISTS otel_metrics_exp_histogram $on_cluster AS otel_metrics_exp_histogram_local
ENGINE = Distributed('$cluster', currentDatabase(), 'otel_metrics_exp_histogram_local', cityHash64(MetricName));

CREATE TABLE IF NOT EXISTS otel_metrics_summary $on_cluster AS otel_metrics_summary_local
ENGINE = Distributed('$cluster', currentDatabase(), 'otel_metrics_summary_local', cityHash64(MetricName));

CREATE TABLE IF NOT EXISTS otel_logs $on_cluster AS otel_logs_local
ENGINE = Distributed('$cluster', currentDatabase(), 'otel_logs_local', rand());

CREATE TABLE IF NOT EXISTS requests $on_cluster AS requests_local
ENGINE = Distributed('$cluster', currentDatabase(), 'requests_local', cityHash64(trace_id));

CREATE TABLE IF NOT EXISTS requests_10s $on_cluster AS requests_10s_local
ENGINE = Distributed('$cluster', currentDatabase(), 'requests_10s_local', cityHash64(service));

CREATE TABLE IF NOT EXISTS steps $on_cluster AS steps_local
ENGINE = Distributed('$cluster', currentDatabase(), 'steps_local', cityHash64(node));

CREATE TABLE IF NOT EXISTS samples $on_cluster AS samples_local
ENGINE = Distributed('$cluster', currentDatabase(), 'samples_local', cityHash64(node));

CREATE TABLE IF NOT EXISTS marks $on_cluster AS marks_local
ENGINE = Distributed('$cluster', currentDatabase(), 'marks_local', rand());
