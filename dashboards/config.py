"""What the dashboards assume, each value with its reason."""

__all__ = ["DATASOURCE_TYPE", "FOLDER", "PLUGIN_VERSION", "RANGE", "REFRESH", "VARIABLES"]

# The official plugin; the Altinity one has other macros.
DATASOURCE_TYPE = "grafana-clickhouse-datasource"
# The first release line that speaks HTTP and the query fields used here.
PLUGIN_VERSION = "4.0.0"
FOLDER = "otel-attrib"
# A sliding P99 over five minutes needs more than one window to show a change.
RANGE = ("now-1h", "now")
# States are cut every 10 s; faster would redraw the same numbers.
REFRESH = "10s"
# Column of `requests` → label; each becomes a multi-select variable.
VARIABLES = {"service": "Service", "model": "Model", "tenant": "Tenant", "node": "Node"}
