"""Where a click leads: from a dot to its request, from a request to the page, between the dashboards."""

from typing import Any, Final

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.models.dashboard import DashboardLinkType, DynamicConfigValue

from otel_attrib.dashboards.config import TAG

__all__ = ["REQUEST_UID", "beside", "report_links", "to_page", "trace_links"]

REQUEST_UID: Final = "otel-attrib-request"
"""Uid of the dashboard of one request, which links name."""


def beside() -> dashboard.DashboardLink:
    """The other dashboards of ours, with this one's variables and time."""
    return (
        dashboard.DashboardLink("otel-attrib")
        .type(DashboardLinkType.DASHBOARDS)
        .tags([TAG])
        .as_dropdown(True)
        .include_vars(True)
        .keep_time(True)
    )


def to_page() -> dashboard.DashboardLink:
    """The page of the service."""
    return (
        dashboard.DashboardLink("Page")
        .type(DashboardLinkType.LINK)
        .icon("external link")
        .tooltip("Attribution of any window, with the evidence for and against")
        .url("${page}/#/")
        .target_blank(True)
    )


def trace_links(column: str = "trace_id") -> DynamicConfigValue:
    """From a row's trace to the request's dashboard, at the request's time, and to the page's evidence.

    The row must have `from_ms` and `to_ms` beside the trace.
    """
    field = f"${{__data.fields.{column}}}"
    here = f"/d/{REQUEST_UID}?var-trace={field}&from=${{__data.fields.from_ms}}&to=${{__data.fields.to_ms}}"
    kept = "&var-datasource=${datasource}&var-page=${page}"
    return DynamicConfigValue(
        id_val="links",
        value=[
            _link("Request: waterfall and counters", here + kept, blank=False),
            _link("Page: trace with its evidence", f"${{page}}/#/trace/{field}", blank=True),
        ],
    )


def report_links(column: str = "incident") -> DynamicConfigValue:
    """From a verdict to the whole report on the page."""
    url = f"${{page}}/#/reports/${{__data.fields.{column}}}"
    return DynamicConfigValue(id_val="links", value=[_link("Page: the whole report", url, blank=True)])


def _link(title: str, url: str, blank: bool) -> dict[str, Any]:
    return {"title": title, "url": url, "targetBlank": blank}
