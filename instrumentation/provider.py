"""Where spans go: the host's own TracerProvider if it set one, else one made from the OTEL_* environment.

Ours is never made global, so that vLLM's `--otlp-traces-endpoint` and anybody else's tracing keep
working beside it. What becomes of each batch is counted, and the reason of a failure is kept.
"""

import logging
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from time import thread_time
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Sampler

from otel_attrib.instrumentation import background, status
from otel_attrib.instrumentation.logs.ids import PlannedIds
from otel_attrib.instrumentation.shim import ENDPOINT
from otel_attrib.schema.attributes import HOST_NAME, PROCESS_PID, SERVICE_NAME, SERVICE_VERSION

__all__ = ["COUNTS", "Counts", "ObservedExporter", "host_provider", "own_provider", "tracer"]

QUEUE = 16384
"""Spans that may wait for a slow collector; OTEL_BSP_MAX_QUEUE_SIZE overrides it."""


@dataclass(slots=True)
class Counts:
    """Spans by what became of them."""

    made: int = 0
    exported: int = 0
    failed: int = 0
    shed: int = 0
    last_failure: str = ""


COUNTS = Counts()


class _Reasons(logging.Handler):
    """Keeps the exporter's last complaint, the only place where it says why."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.last = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.last = record.getMessage()
        # A refused batch is retried for seconds before it fails; the launcher wants to know now.
        status.tell("trouble", reason=self.last)


class ObservedExporter(SpanExporter):
    """Hands batches to `exporter` and counts them; its CPU time is charged to the budget."""

    def __init__(self, exporter: SpanExporter, endpoint: str) -> None:
        """Report as `endpoint`."""
        self.exporter = exporter
        self.endpoint = endpoint
        self.reasons = _Reasons()
        logging.getLogger("opentelemetry.exporter").addHandler(self.reasons)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send one batch."""
        before = thread_time()
        result = self.exporter.export(spans)
        background.BUDGET.spend(thread_time() - before)
        if result is SpanExportResult.SUCCESS:
            COUNTS.exported += len(spans)
            status.tell("exported", endpoint=self.endpoint, spans=len(spans))
        else:
            COUNTS.failed += len(spans)
            COUNTS.last_failure = self.reasons.last
            status.tell("failed", endpoint=self.endpoint, reason=self.reasons.last)
        return result

    def shutdown(self) -> None:
        """Stop the exporter."""
        self.exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Flush the exporter."""
        return self.exporter.force_flush(timeout_millis)


def exporters() -> list[tuple[SpanExporter, str]]:
    """Make the exporters that OTEL_TRACES_EXPORTER names (default otlp), each with a name for messages."""
    names = os.environ.get("OTEL_TRACES_EXPORTER", "otlp").split(",")
    made = [_exporter(name.strip()) for name in names]
    return [found for found in made if found is not None]


def _exporter(name: str) -> tuple[SpanExporter, str] | None:
    if name in ("", "none"):
        return None
    if name == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter(), "console"
    if name == "otlp":
        name = f"otlp_{_protocol()}"
    if name in ("otlp_grpc", "otlp_proto_grpc"):
        return _grpc()
    if name in ("otlp_http/protobuf", "otlp_proto_http"):
        return _http()
    raise ValueError(f"OTEL_TRACES_EXPORTER names {name!r}; otlp, console and none are known")


def _protocol() -> str:
    general = os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    return os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", general).strip()


def _grpc() -> tuple[SpanExporter, str]:
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

    exporter = OTLPSpanExporter(endpoint=os.environ.get(ENDPOINT))
    return exporter, str(getattr(exporter, "_endpoint", "OTLP/gRPC"))


def _http() -> tuple[SpanExporter, str]:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    base = os.environ.get(ENDPOINT)
    exporter = OTLPSpanExporter(endpoint=f"{base.rstrip('/')}/v1/traces" if base else None)
    return exporter, str(getattr(exporter, "_endpoint", "OTLP/HTTP"))


def resource(default_name: str, version: str = "", said: Resource | None = None) -> Resource:
    """Describe this process; what the environment (or `said`) names wins over what is found out here."""
    found: dict[str, Any] = {
        SERVICE_NAME: default_name,
        HOST_NAME: socket.gethostname(),
        PROCESS_PID: os.getpid(),
    }
    if version:
        found[SERVICE_VERSION] = version
    named = dict((said or Resource.create()).attributes)
    if str(named.get(SERVICE_NAME, "")).startswith("unknown_service"):  # the SDK's placeholder
        del named[SERVICE_NAME]
    return Resource(found | named)


def own_provider(default_name: str, version: str = "", sampler: Sampler | None = None) -> TracerProvider:
    """Make a provider from the standard environment; `sampler` None means OTEL_TRACES_SAMPLER."""
    provider = TracerProvider(
        sampler=sampler,
        resource=resource(default_name, version),
        shutdown_on_exit=False,
        id_generator=PlannedIds(),
    )
    size = None if "OTEL_BSP_MAX_QUEUE_SIZE" in os.environ else QUEUE
    for exporter, name in exporters():
        observed = ObservedExporter(exporter, name)
        provider.add_span_processor(BatchSpanProcessor(observed, max_queue_size=size))
    background.at_exit(provider.shutdown)
    return provider


def host_provider() -> TracerProvider | None:
    """The global provider that the host or opentelemetry-instrument set; the engine's own does not count.

    vLLM makes one for its `llm_request` spans, without host.name and with its own endpoint; it is left to it.
    """
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        return None
    if "vllm.instrumenting_module_name" in provider.resource.attributes:
        return None
    return provider


def beside(host: TracerProvider, default_name: str, version: str) -> TracerProvider:
    """A provider that samples and exports as the host's does, and also names the node and the process."""
    processor = getattr(host, "_active_span_processor", None)
    if processor is None:
        return host
    return TracerProvider(
        sampler=host.sampler,
        resource=resource(default_name, version, host.resource),
        shutdown_on_exit=False,
        active_span_processor=processor,
        id_generator=PlannedIds(host.id_generator),
    )


def tracer(scope: str, version: str, default_name: str, *, every: bool = False) -> trace.Tracer:
    """Tracer of one scope; `every` asks for all spans where the sampler is ours to choose."""
    from otel_attrib import __version__

    host = host_provider()
    if host is not None:
        status.tell("provider", owner="host")
        provider = beside(host, default_name, version)
    else:
        keep_all = every and os.environ.get("OTEL_TRACES_SAMPLER", "") != "always_off"
        provider = own_provider(default_name, version, ALWAYS_ON if keep_all else None)
    return provider.get_tracer(scope, __version__)
