-- What people and machines did to the service: deploys, configuration changes, drills.
CREATE TABLE IF NOT EXISTS marks$local $on_cluster
(
    time DateTime64(6, 'UTC'),
    kind LowCardinality(String),
    name String,
    service LowCardinality(String),
    attributes Map(LowCardinality(String), String)
)
ENGINE = ${replicated}MergeTree
ORDER BY time
SETTINGS non_replicated_deduplication_window = $window;
