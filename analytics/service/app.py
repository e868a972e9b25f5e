"""The application of the HTTP port: `/api/v1`, health, metrics, and the web page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastapi import Depends, FastAPI

from otel_attrib import __version__
from otel_attrib.analytics.exposition import Collects
from otel_attrib.analytics.objectives.count_cache import CountCaches
from otel_attrib.analytics.objectives.slo_files import SloFiles
from otel_attrib.analytics.service.access_log import AccessLog
from otel_attrib.analytics.service.authentication import Authentication
from otel_attrib.analytics.service.bounded import Limits
from otel_attrib.analytics.service.describe import DESCRIPTION, PROBLEMS
from otel_attrib.analytics.service.headers import SafeHeaders
from otel_attrib.analytics.service.health import add_health
from otel_attrib.analytics.service.hosts import Hosts, allowed_hosts, free_paths
from otel_attrib.analytics.service.hub import Hub
from otel_attrib.analytics.service.meters import Meters
from otel_attrib.analytics.service.problem import add_problem_handlers
from otel_attrib.analytics.service.question_pool import QuestionPool
from otel_attrib.analytics.service.route_path import API
from otel_attrib.analytics.service.routes import ROUTERS
from otel_attrib.analytics.service.static import add_page, add_runbooks
from otel_attrib.analytics.service.tracing import endpoint_of, trace_requests
from otel_attrib.analytics.service.unknown_parameters import UnknownParameters, refuse_unknown
from otel_attrib.config import Settings
from otel_attrib.schema.store import Store

__all__ = ["Behind", "Ending", "service_app"]


@dataclass(frozen=True, slots=True)
class Behind:
    """What stands behind the application.

    `store` gives the open store or raises `StoreError`; `trouble` says why the service is not ready, or
    nothing; `status` is the body of /api/v1/status for a host name; `metrics` are registries, or other
    collectors, of what /metrics shows; `page` is the folder of the web page, `runbooks` that of the runbooks;
    `own` are the service's own addresses.
    """

    store: Callable[[], Store]
    trouble: Callable[[], str]
    status: Callable[[str], Mapping[str, Any]]
    metrics: Sequence[Collects] = field(default=())
    page: Path | None = None
    own: Sequence[str] = field(default=())
    runbooks: Path | None = None


def service_app(settings: Settings, behind: Behind) -> FastAPI:
    """The application over `behind`; end it with `Ending`."""
    app = FastAPI(
        title="otel-attrib",
        version=__version__,
        summary="Why was the first token late, and which layer did it?",
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
    )
    _stand_behind(app, settings, behind)
    add_problem_handlers(app)
    add_health(app, behind, app.state.meters)
    for router in ROUTERS:
        app.include_router(router, prefix=API, dependencies=[Depends(refuse_unknown)], responses=PROBLEMS)
    add_page(app, behind.page)
    add_runbooks(app, behind.runbooks)
    app.state.unknown_parameters.learn(app.openapi())
    _put_before(app, settings)
    app.state.traces = trace_requests(app, endpoint_of(settings.api_traces, behind.own))
    return app


def _stand_behind(app: FastAPI, settings: Settings, behind: Behind) -> None:
    """What routes and dependencies find in the application's state."""
    state, meters = app.state, Meters()
    limits = Limits(settings.api_seconds, settings.api_rows, settings.api_memory)
    state.settings, state.behind, state.meters = settings, behind, meters
    state.authentication, state.unknown_parameters = Authentication(settings), UnknownParameters()
    state.slo_files, state.count_caches = SloFiles(settings.slo), CountCaches()
    state.hub = Hub(settings.api_listeners, meters)
    state.questions = QuestionPool(behind.store, limits, settings.api_threads, settings.api_waiting, meters)


def _put_before(app: FastAPI, settings: Settings) -> None:
    """Middleware, the last added sees a request first."""
    app.add_middleware(
        Hosts, allowed=allowed_hosts(settings.host, settings.api_hosts), free=free_paths(settings.host)
    )
    app.add_middleware(SafeHeaders)
    app.add_middleware(AccessLog, meters=app.state.meters, written=settings.access_log)


class Ending:
    """Lives beside an application and ends what it holds, before its port closes."""

    def __init__(self, app: FastAPI) -> None:
        """End `app`."""
        self._app = app

    def start(self) -> None:
        """Nothing: an application begins with its first request."""

    def stop(self, seconds: float) -> None:
        """Send listeners away, call questions off, and send the last spans within `seconds`."""
        self._app.state.hub.stop()
        self._app.state.questions.close()
        self._app.state.traces.force_flush(int(seconds * 1e3))
        self._app.state.traces.shutdown()
