"""Every dashboard by name."""

from collections.abc import Sequence
from typing import Final

from grafana_foundation_sdk.builders import dashboard

from otel_attrib.analytics.objectives.objective import Objective
from otel_attrib.dashboards.cache import cache
from otel_attrib.dashboards.collector import collector
from otel_attrib.dashboards.config import PAGE_URL
from otel_attrib.dashboards.devices import devices
from otel_attrib.dashboards.fleet import fleet
from otel_attrib.dashboards.frame import to_json
from otel_attrib.dashboards.objectives import objectives
from otel_attrib.dashboards.prometheus import prometheus_only
from otel_attrib.dashboards.request import request
from otel_attrib.dashboards.tenants import tenants

__all__ = ["NAMES", "boards", "texts"]

_PLAIN: Final = {
    "fleet": fleet,
    "tenants": tenants,
    "request": request,
    "devices": devices,
    "cache": cache,
    "collector": collector,
    "prometheus": prometheus_only,
}
NAMES: Final = (*_PLAIN, "slo")
"""What can be exported; the uid is `otel-attrib-NAME`."""


def boards(page: str = PAGE_URL, given: Sequence[Objective] = ()) -> dict[str, dashboard.Dashboard]:
    """Every dashboard as a builder; links lead to `page`, objectives `given` have their rows."""
    found = {name: make(page) for name, make in _PLAIN.items()}
    return {**found, "slo": objectives(page, given)}


def texts(page: str = PAGE_URL, given: Sequence[Objective] = ()) -> dict[str, str]:
    """Every dashboard as the JSON that Grafana imports."""
    return {name: to_json(board) for name, board in boards(page, given).items()}
