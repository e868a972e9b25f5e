"""Where spans go: the host's provider if there is one, else ours, and never a global one of ours."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON

from otel_attrib.instrumentation import background, provider


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No thread ends up with work of these tests."""
    monkeypatch.setattr(background, "at_exit", lambda _work: None)
    yield


def as_global(monkeypatch: pytest.MonkeyPatch, found: Any) -> None:
    """Let `found` be the process's TracerProvider."""
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: found)


def test_without_a_host_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours exports to the environment's endpoint and is not made global."""
    monkeypatch.setenv("OTEL_ATTRIB_OTLP_ENDPOINT", "http://127.0.0.1:1")
    before = trace.get_tracer_provider()

    made = provider.own_provider("vllm", "1.2")

    assert before is trace.get_tracer_provider()
    assert ["127.0.0.1:1"] == [name for _, name in provider.exporters()]
    assert ("vllm", "1.2", socket.gethostname()) == tuple(
        made.resource.attributes[name] for name in ("service.name", "service.version", "host.name")
    )
    made.shutdown()


@pytest.mark.parametrize(
    ("variables", "names"),
    [
        ({"OTEL_TRACES_EXPORTER": "none"}, []),
        ({"OTEL_TRACES_EXPORTER": "console"}, ["console"]),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:7"}, ["127.0.0.1:7"]),
        (
            {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:4318"},
            ["http://h:4318/v1/traces"],
        ),
        (
            {
                "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
                "OTEL_ATTRIB_OTLP_ENDPOINT": "http://h:9/",
            },
            ["http://h:9/v1/traces"],
        ),
        (
            {"OTEL_ATTRIB_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://b:2"},
            ["127.0.0.1:1"],
        ),
    ],
    ids=["none", "console", "grpc", "http", "http for traces", "ours wins"],
)
def test_the_standard_environment(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], names: list[str]
) -> None:
    """Exporter, protocol and endpoint come from the standard variables; our own endpoint wins."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    made = provider.exporters()

    assert names == [name for _, name in made]
    for exporter, _ in made:
        exporter.shutdown()


def test_an_unknown_exporter_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exporter that we do not know is named, with those we do."""
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "zipkin")

    with pytest.raises(ValueError, match="'zipkin'; otlp, console and none are known"):
        provider.exporters()


def test_resource_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the user says of the process wins over what is found out."""
    monkeypatch.setenv("OTEL_SERVICE_NAME", "chat")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "host.name=node7,k8s.pod.name=p1")

    found = provider.resource("vllm").attributes

    assert ("chat", "node7", "p1") == (found["service.name"], found["host.name"], found["k8s.pod.name"])
    assert "service.instance.id" in found


def host(**resource: str) -> tuple[TracerProvider, InMemorySpanExporter]:
    """A provider as a host sets it up, whose spans stay in memory."""
    memory = InMemorySpanExporter()
    made = TracerProvider(resource=Resource(resource), shutdown_on_exit=False)
    made.add_span_processor(SimpleSpanProcessor(memory))
    return made, memory


def test_a_host_provider_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spans pass through the host's exporter under its service, with the node's name added."""
    theirs, memory = host(**{"service.name": "theirs"})
    as_global(monkeypatch, theirs)

    provider.tracer("scope", "1", "vllm").start_span("x").end()

    (span,) = memory.get_finished_spans()
    assert ("theirs", socket.gethostname()) == (
        span.resource.attributes["service.name"],
        span.resource.attributes["host.name"],
    )


def test_a_nameless_host_provider_gets_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK's placeholder for a missing service name does not reach the store."""
    theirs, memory = host(**{"service.name": "unknown_service:python"})
    as_global(monkeypatch, theirs)

    provider.tracer("scope", "1", "vllm").start_span("x").end()

    (span,) = memory.get_finished_spans()
    assert "vllm" == span.resource.attributes["service.name"]


def test_the_engines_own_provider_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """vLLM's `--otlp-traces-endpoint` keeps its provider to itself."""
    theirs, _ = host(**{"vllm.instrumenting_module_name": "vllm.llm_engine"})
    as_global(monkeypatch, theirs)

    assert provider.host_provider() is None


@pytest.mark.parametrize(
    ("sampler", "expected"), [("traceidratio", ALWAYS_ON), ("always_off", ALWAYS_OFF)], ids=["ratio", "off"]
)
def test_steps_are_kept_whatever_the_ratio(
    monkeypatch: pytest.MonkeyPatch, sampler: str, expected: object
) -> None:
    """A ratio thins requests out, not the steps that served them; always_off means off."""
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", sampler)
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.01")
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    as_global(monkeypatch, None)

    tracer = provider.tracer("steps", "1", "vllm", every=True)

    assert expected is tracer.sampler  # type: ignore[attr-defined] # of the SDK's tracer


class Failing(SpanExporter):
    """An exporter that fails, then succeeds."""

    def __init__(self) -> None:
        """Fail first."""
        self.results = [SpanExportResult.FAILURE, SpanExportResult.SUCCESS]

    def export(self, spans: Any) -> SpanExportResult:
        """Give the next result."""
        return self.results.pop(0)

    def shutdown(self) -> None:
        """Nothing to stop."""


def test_batches_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What became of each span is known: exported or failed."""
    monkeypatch.setattr(provider, "COUNTS", counts := provider.Counts())
    observed = provider.ObservedExporter(Failing(), "there")

    observed.export([1, 2, 3])  # type: ignore[list-item] # only counted
    observed.export([1, 2])  # type: ignore[list-item] # only counted

    assert (3, 2) == (counts.failed, counts.exported)
