"""The service's HTTP port in `otel-attrib up`: what answers there, and what lives beside it.

Layers meet here: the collector has the ports and the store, analytics the questions, dashboards the page.
"""

from collections.abc import Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from otel_attrib.analytics.alerting import Evaluator
from otel_attrib.analytics.control.loop import ThresholdLoop
from otel_attrib.analytics.exposition import Latencies
from otel_attrib.analytics.service.app import Behind, Ending, service_app
from otel_attrib.collector.status import status_for
from otel_attrib.collector.up import Beside, Inner

if TYPE_CHECKING:
    from fastapi import FastAPI

__all__ = ["face", "page_folder", "runbooks_folder"]


def face(inner: Inner) -> tuple["FastAPI", Sequence[Beside]]:
    """The application of the HTTP port over what the service has, and what lives beside the service."""
    settings = inner.settings
    alerts = Evaluator(settings, inner.store, inner.addresses["http"])
    latencies = Latencies(inner.store, settings.metrics_labels, alerts.slo_files.objectives)
    behind = Behind(
        store=inner.store,
        trouble=inner.trouble,
        status=partial(_status, inner),
        metrics=(inner.counters.registry, latencies, alerts),
        page=page_folder(),
        runbooks=runbooks_folder(),
        own=tuple(inner.addresses.values()),
    )
    app = service_app(settings, behind)
    return app, (Ending(app), alerts, ThresholdLoop.beside(settings, inner.store))


def page_folder() -> Path:
    """Where the built web page is installed."""
    return Path(str(files("otel_attrib.dashboards"))) / "page"


def runbooks_folder() -> Path:
    """Where the runbooks of alerts are installed."""
    return Path(str(files("otel_attrib.dashboards"))) / "runbooks"


def _status(inner: Inner, host: str) -> dict[str, object]:
    return status_for(host, inner.addresses, inner.database, inner.counters.totals())
