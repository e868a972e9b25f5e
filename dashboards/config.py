"""What the dashboards assume, each value with its reason."""

from typing import Final

__all__ = [
    "BUDGET_LOW",
    "DATASOURCE_TYPE",
    "DATASOURCE_UID",
    "EDITS_BY_HAND",
    "FOLDER",
    "GRAFANA_URL",
    "GRIDS",
    "KV_FULL",
    "LIMITS",
    "OLDEST_GRAFANA",
    "PAGE_URL",
    "PLUGIN_VERSION",
    "PROMETHEUS_TYPE",
    "PROMETHEUS_UID",
    "RANGE",
    "REFRESH",
    "STEP",
    "TAG",
    "TIMEOUT",
    "VARIABLES",
]

DATASOURCE_TYPE: Final = "grafana-clickhouse-datasource"
"""The official plugin; the Altinity one has other macros."""

PLUGIN_VERSION: Final = "4.0.0"
"""The first release line that speaks HTTP and the query fields used here."""

PROMETHEUS_TYPE: Final = "prometheus"
"""Part of Grafana itself; Mimir, Thanos and VictoriaMetrics answer to it as well."""

OLDEST_GRAFANA: Final = "10.1"
"""The schema that the foundation SDK writes; older ones drop fields silently."""

FOLDER: Final = "otel-attrib"
"""Uid and title of the folder; the uid is what is looked for, so the folder may be given another title."""

TAG: Final = "otel-attrib"
"""On every dashboard of ours. One with our uid and without it is somebody else's and is left alone."""

DATASOURCE_UID: Final = "otel-attrib-clickhouse"
"""Of the data source that `apply --clickhouse` makes; never used unless it is asked for."""

PROMETHEUS_UID: Final = "otel-attrib-prometheus"
"""The same for `apply --prometheus`."""

GRAFANA_URL: Final = "http://127.0.0.1:3000"
"""Where a Grafana listens that nobody configured."""

TIMEOUT: Final = 15.0
"""Seconds for one answer of Grafana: saving a dashboard on a busy SQLite takes a few."""

PAGE_URL: Final = "http://127.0.0.1:8080"
"""The page of a service that nobody configured; a text box on every dashboard."""

RANGE: Final = ("now-1h", "now")
"""A sliding P99 over five minutes needs more than one window to show a change."""

REFRESH: Final = "10s"
"""States are cut every 10 s; faster would redraw the same numbers."""

STEP: Final = "10s"
"""The finest interval that a panel asks for, for the same reason."""

EDITS_BY_HAND: Final = True
"""Dashboards may be edited in Grafana: `diff` shows what was, and `apply` puts it back."""

VARIABLES: Final = {"service": "Service", "model": "Model", "tenant": "Tenant", "node": "Node"}
"""Column of `requests_10s` → label; each is a variable with several values on every dashboard."""

LIMITS: Final = {"ttft_limit_ms": "2000", "tpot_limit_ms": "200", "target": "0.99"}
"""MLPerf's conversational limits for Llama-2 70B, both at P99: a start, to be overwritten in the boxes."""

BUDGET_LOW: Final = 0.25
"""Share of the budget below which it is shown as scarce: a week of a month."""

KV_FULL: Final = 0.95
"""Share of KV blocks in use from which on new requests make others give way: a dashed line."""

GRIDS: Final = {"whole": 24, "half": 12, "third": 8, "quarter": 6, "sixth": 4}
"""Widths in Grafana's grid of 24 columns."""
