"""The data sources that the dashboards ask, as Grafana keeps them.

They are made only when their addresses are given. The password comes from the environment and is sent as a
secret; it cannot be read back, so whether it is still the right one nobody can say.
"""

from typing import Any, Final
from urllib.parse import unquote

from otel_attrib.dashboards.config import (
    DATASOURCE_TYPE,
    DATASOURCE_UID,
    PROMETHEUS_TYPE,
    PROMETHEUS_UID,
    TAG,
)
from otel_attrib.dashboards.links import REQUEST_UID
from otel_attrib.errors import UsageError
from otel_attrib.schema.address import hidden, http_parts
from otel_attrib.schema.dsn import DATABASE

__all__ = ["MARK", "clickhouse", "prometheus"]

MARK: Final = "managedBy"
"""Key of `jsonData` that says a data source is ours."""

_PORTS: Final = {"http": 8123, "https": 8443}


def clickhouse(address: str, password: str = "") -> dict[str, Any]:
    """The store at `http://user@host:8123/database`: a ClickHouse, or the port of `otel-attrib up`."""
    parts = http_parts(address)
    if parts is None:
        raise UsageError(
            f"--clickhouse {hidden(address)!r} is no address: write http://user@host:8123/database"
        )
    if parts.password:
        raise UsageError("--clickhouse holds a password: set OTEL_ATTRIB_CLICKHOUSE_PASSWORD instead")
    made: dict[str, Any] = {
        "uid": DATASOURCE_UID,
        "name": "otel-attrib ClickHouse",
        "type": DATASOURCE_TYPE,
        "access": "proxy",
        "isDefault": False,
        "jsonData": {
            "host": parts.hostname,
            "port": parts.port or _PORTS[parts.scheme],
            "protocol": "http",
            "secure": parts.scheme == "https",
            "username": unquote(parts.username or "default"),
            "defaultDatabase": unquote(parts.path.strip("/")) or DATABASE,
            MARK: TAG,
        },
    }
    return {**made, "secureJsonData": {"password": password}} if password else made


def prometheus(address: str, page: str) -> dict[str, Any]:
    """The Prometheus that scrapes /metrics; exemplars lead to the request's dashboard and to the page."""
    parts = http_parts(address)
    if parts is None:
        raise UsageError(f"--prometheus {hidden(address)!r} is no address: write http://host:9090")
    if parts.password:
        raise UsageError("--prometheus holds a password: set up that data source in Grafana instead")
    trace = "${__value.raw}"
    return {
        "uid": PROMETHEUS_UID,
        "name": "otel-attrib Prometheus",
        "type": PROMETHEUS_TYPE,
        "access": "proxy",
        "isDefault": False,
        "url": address.rstrip("/"),
        "jsonData": {
            "httpMethod": "POST",
            "exemplarTraceIdDestinations": [
                {
                    "name": "trace_id",
                    "url": f"{page.rstrip('/')}/#/trace/{trace}",
                    "urlDisplayLabel": "Page: trace with its evidence",
                },
                {
                    "name": "trace_id",
                    "url": f"/d/{REQUEST_UID}?var-trace={trace}",
                    "urlDisplayLabel": "Request: waterfall and counters",
                },
            ],
            MARK: TAG,
        },
    }
