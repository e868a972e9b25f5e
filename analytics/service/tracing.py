"""The service's own traces: a span for each request, sent only where an endpoint is named.

Without an endpoint spans are made and not recorded: they cost next to nothing, and their ids still stand in
the log and join a caller's trace. Nothing of a question's words is put on a span beyond its path.
"""

import logging
import os
from collections.abc import Collection
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fastapi import FastAPI
from opentelemetry.trace import Span

from otel_attrib import __version__

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter

__all__ = ["endpoint_of", "trace_requests"]

_log = logging.getLogger(__name__)
_QUIET = "healthz,readyz,metrics,api/v1/live"
_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


def endpoint_of(setting: str, own: Collection[str]) -> str:
    """Where traces go: setting api_traces, or OpenTelemetry's variables unless they name this service.

    A service that reports to itself would fill its store with its own questions; who wants that says so
    with the setting.
    """
    if setting:
        return setting
    named = next((os.environ[name] for name in _VARIABLES if os.environ.get(name)), "")
    if named and _place(named) in {_place(address) for address in own}:
        _log.warning(
            "%s is this service: its own traces are not sent to itself (set api_traces to do so)", named
        )
        return ""
    return named


def trace_requests(app: FastAPI, endpoint: str) -> "TracerProvider":
    """Put every request of `app` into a span; send spans to `endpoint` unless it is empty."""
    from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, DEFAULT_ON

    resource = Resource.create({"service.name": "otel-attrib", "service.version": __version__})
    provider = TracerProvider(
        sampler=DEFAULT_ON if endpoint else ALWAYS_OFF, resource=resource, shutdown_on_exit=False
    )
    if endpoint:
        provider.add_span_processor(BatchSpanProcessor(_exporter(endpoint)))
    FastAPIInstrumentor.instrument_app(
        app,
        server_request_hook=_without_words,
        tracer_provider=provider,
        excluded_urls=_QUIET,
        exclude_spans=["receive", "send"],
    )
    return provider


def _without_words(span: Span, scope: dict[str, Any]) -> None:
    """Take the query off: it may name what nobody else should read."""
    if span.is_recording():
        span.set_attributes({"http.url": scope["path"], "http.target": scope["path"], "url.query": ""})


def _exporter(endpoint: str) -> "SpanExporter":
    """gRPC, unless OTEL_EXPORTER_OTLP_PROTOCOL or the port of the endpoint says HTTP."""
    protocol = os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "")
    if protocol.startswith("http") or (not protocol and urlsplit(endpoint).port == 4318):
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as Http

        path = urlsplit(endpoint).path.rstrip("/")
        return Http(endpoint if path.endswith("/v1/traces") else f"{endpoint.rstrip('/')}/v1/traces")
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as Grpc

    return Grpc(endpoint=endpoint, insecure=urlsplit(endpoint).scheme != "https")


def _place(address: str) -> tuple[str, int | None]:
    parts = urlsplit(address)
    host = parts.hostname or ""
    return ("127.0.0.1" if host in ("localhost", "::1", "0.0.0.0", "::") else host), parts.port
