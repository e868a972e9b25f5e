"""The routes of the service, one module a noun; each has a `router`, listed here."""

from fastapi import APIRouter

from otel_attrib.analytics.service.routes import (
    alerts,
    control,
    heatmap,
    live,
    marks,
    quantiles,
    reports,
    requests,
    slo,
    status,
    trace,
    why,
)

__all__ = ["ROUTERS"]

# All stand under /api/v1.
ROUTERS: tuple[APIRouter, ...] = (
    quantiles.router,
    why.router,
    trace.router,
    status.router,
    heatmap.router,
    live.router,
    requests.router,
    marks.router,
    reports.router,
    alerts.router,
    control.router,
    slo.router,  # last of those under /slo: it takes any name behind it
)
