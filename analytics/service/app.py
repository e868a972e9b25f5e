"""The application of the HTTP port: `/api/v1`, health, metrics, and the web page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from otel_attrib import __version__
from otel_attrib.analytics.exposition import Collects
from otel_attrib.analytics.service.bounded import Limits
from otel_attrib.analytics.service.desk import Desk
from otel_attrib.analytics.service.door import Door
from otel_attrib.analytics.service.health import add_health
from otel_attrib.analytics.service.meters import Meters
from otel_attrib.analytics.service.problem import add_problem_handlers
from otel_attrib.analytics.service.routes import ROUTERS
from otel_attrib.config import Settings
from otel_attrib.schema.store import Store

__all__ = ["API", "Behind", "service_app"]

API = "/api/v1"


@dataclass(frozen=True, slots=True)
class Behind:
    """What stands behind the application.

    `store` gives the open store or raises `StoreError`; `trouble` says why the service is not ready, or
    nothing; `status` is the body of /api/v1/status for a host name; `metrics` are registries, or other
    collectors, of what /metrics shows; `page` is the folder of the web page.
    """

    store: Callable[[], Store]
    trouble: Callable[[], str]
    status: Callable[[str], Mapping[str, Any]]
    metrics: Sequence[Collects] = field(default=())
    page: Path | None = None


def service_app(settings: Settings, behind: Behind) -> FastAPI:
    """The application over `behind`."""
    app = FastAPI(title="otel-attrib", version=__version__, docs_url=None, redoc_url=None)
    app.state.door = Door(settings)
    app.state.meters = meters = Meters()
    app.state.desk = Desk(behind.store, _limits(settings), settings.api_threads, settings.api_waiting, meters)
    app.state.behind = behind
    add_problem_handlers(app)
    add_health(app, behind)
    for router in ROUTERS:
        app.include_router(router, prefix=API)
    return app


def _limits(settings: Settings) -> Limits:
    return Limits(settings.api_seconds, settings.api_rows, settings.api_memory)
