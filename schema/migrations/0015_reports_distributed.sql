-- only with a cluster
-- The name that people query, over the shards' own tables.
CREATE TABLE IF NOT EXISTS reports $on_cluster AS reports_local
ENGINE = Distributed('$cluster', currentDatabase(), 'reports_local', rand());
