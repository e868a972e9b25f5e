"""The variables that dashboards share, each defined once, so that a link carries their values along."""

from typing import Final

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.models.dashboard import VariableRefresh

from otel_attrib.dashboards.config import DATASOURCE_TYPE, LIMITS, PROMETHEUS_TYPE, VARIABLES
from otel_attrib.dashboards.panels import source

__all__ = ["Variable", "choice", "choices", "limits", "page", "prometheus", "store", "trace"]

Variable = (
    dashboard.DatasourceVariable
    | dashboard.QueryVariable
    | dashboard.TextBoxVariable
    | dashboard.ConstantVariable
)

_LABELS: Final = {"ttft_limit_ms": "TTFT limit, ms", "tpot_limit_ms": "TPOT limit, ms", "target": "Target"}
_MEANINGS: Final = {
    "ttft_limit_ms": "A request is good when its first token took no longer",
    "tpot_limit_ms": "… and each later token no longer than this on average",
    "target": "Share of requests that must be good, such as 0.99",
}


def store() -> dashboard.DatasourceVariable:
    """Which ClickHouse."""
    return dashboard.DatasourceVariable("datasource").label("Store").type(DATASOURCE_TYPE)


def prometheus() -> dashboard.DatasourceVariable:
    """Which Prometheus."""
    return dashboard.DatasourceVariable("prometheus").label("Prometheus").type(PROMETHEUS_TYPE)


def choices() -> list[dashboard.QueryVariable]:
    """Service, model, tenant and node: any number of each, all at first."""
    where = "FROM requests_10s WHERE $__timeFilter(bucket)"
    return [
        choice(column, label, f"SELECT DISTINCT {column} {where} ORDER BY {column}")
        for column, label in VARIABLES.items()
    ]


def choice(name: str, label: str, query: str, prometheus: bool = False) -> dashboard.QueryVariable:
    """Any number of the values that a query of the viewer's source finds in the range."""
    return (
        dashboard.QueryVariable(name)
        .label(label)
        .datasource(source(prometheus))
        .query(query)
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .multi(True)
        .include_all(True)
    )


def page(url: str) -> dashboard.TextBoxVariable:
    """Where the page of the service is, for links that lead there."""
    return (
        dashboard.TextBoxVariable("page")
        .label("Page")
        .description("Base URL of the page of otel-attrib up; links to traces and reports lead there")
        .default_value(url.rstrip("/"))
    )


def trace() -> dashboard.TextBoxVariable:
    """Which request."""
    return (
        dashboard.TextBoxVariable("trace")
        .label("Trace id")
        .description("32 hexadecimal digits; a dot of a P99 panel or a row of a table brings it")
        .default_value("")
    )


def limits() -> list[dashboard.TextBoxVariable]:
    """What the service promises, as numbers to type."""
    return [
        dashboard.TextBoxVariable(name).label(_LABELS[name]).description(_MEANINGS[name]).default_value(value)
        for name, value in LIMITS.items()
    ]
