"""Totals and shares as metrics: the registry's names and units, absent what was not seen, shares once."""

from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricReader

from otel_attrib.instrumentation import background
from otel_attrib.instrumentation.metric_reader import metric_reader
from otel_attrib.instrumentation.torch import metrics
from otel_attrib.instrumentation.torch.metrics import METRICS, TorchMetrics
from otel_attrib.instrumentation.torch.parts import StepParts
from otel_attrib.instrumentation.torch.shares import Shares
from otel_attrib.instrumentation.torch.window import OUTCOMES, ProfileWindows
from otel_attrib.schema.attributes import ATTRIBUTES
from otel_attrib.schema.context_counters import registered
from otel_attrib.schema.kernel_class import ACTIVITIES


def shares(compute: float, ns: int) -> Shares:
    """A window of that length that computed for that share and rested else."""
    return Shares(0, ns, dict.fromkeys(ACTIVITIES, 0.0) | {"compute": compute, "idle": 1 - compute})


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> InMemoryMetricReader:
    """Keeps what is sent; every tick is due."""
    monkeypatch.setattr(background, "due", lambda _owner, _seconds: True)
    monkeypatch.setattr(background, "at_exit", lambda _work: None)
    return InMemoryMetricReader()


def points(reader: InMemoryMetricReader) -> dict[str, list[tuple[dict[str, Any], float]]]:
    """What was collected last: metric → attributes and value of each point."""
    data = reader.get_metrics_data()
    found: dict[str, list[tuple[dict[str, Any], float]]] = {}
    for resource in data.resource_metrics if data else ():
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                for point in metric.data.data_points:
                    value = getattr(point, "value")  # noqa: B009 # histograms have none, ours are not
                    found.setdefault(metric.name, []).append((dict(point.attributes or {}), value))
    return found


def one_step(parts: StepParts, size: int) -> None:
    """A step with one collective."""
    parts.begin()
    with parts.part("collective", size):
        pass
    parts.end()


def test_registered_names_and_units() -> None:
    """Each metric is a counter of the registry under its name, in its unit; outcomes stand in its meaning."""
    assert METRICS == {key: (registered(key).metric, registered(key).unit) for key in METRICS}
    (meaning,) = (entry.meaning for entry in ATTRIBUTES if entry.name == "slatag.profile.outcome")

    assert all(outcome in meaning for outcome in OUTCOMES)


def test_totals(reader: InMemoryMetricReader) -> None:
    """Bytes and seconds since the process began, on their card and rank; copies never seen are absent."""
    parts = StepParts()
    told = TorchMetrics(parts, None, "vllm", "3", 1, reader=lambda: reader)
    one_step(parts, 100)
    one_step(parts, 28)
    told.tick()
    found = points(reader)
    ((labels, size),) = found["slatag.engine.collective_bytes"]
    ((_, seconds),) = found["slatag.engine.collective_time"]

    assert {"hw.id": "3", "slatag.rank": 1, "slatag.source": "torch"} == {
        name: value for name, value in labels.items() if name != "process.pid"
    }
    assert 128 == size
    assert parts.totals.collective / 1e9 == seconds
    assert {"slatag.engine.collective_bytes", "slatag.engine.collective_time"} == set(found)


def test_shares_stand_once(reader: InMemoryMetricReader) -> None:
    """A window's shares are sent with the next metrics and not again; two windows count by their length."""
    windows = ProfileWindows(10)
    taken = [[shares(0.5, 100), shares(0.2, 300)], []]
    windows.take = lambda: taken.pop(0)  # type: ignore[method-assign]
    windows.outcomes["taken"] += 2
    windows.spent_ns = 7_000_000
    told = TorchMetrics(StepParts(), windows, "vllm", reader=lambda: reader)
    told.tick()
    told._shares = [shares(0.5, 100), shares(0.2, 300)]
    first = points(reader)
    second = points(reader)
    by_activity = {labels["slatag.activity"]: value for labels, value in first["slatag.profile.share"]}

    assert {**dict.fromkeys(ACTIVITIES, 0.0), "compute": 0.275, "idle": 0.725} == pytest.approx(by_activity)
    assert "slatag.profile.share" not in second
    ((labels, count),) = second["slatag.profile.windows"]
    assert ("taken", 2) == (labels["slatag.profile.outcome"], count)
    assert 0.007 == second["slatag.profile.time"][0][1]


def test_nothing_to_tell_makes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process without collectives, copies and windows makes no exporter."""
    made: list[str] = []
    told = TorchMetrics(StepParts(), ProfileWindows(0), "vllm", reader=lambda: made.append("reader"))
    told.tick()

    assert [] == made


def test_a_collector_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """After an export that hung the next one waits half a minute; after a quick one, a second."""
    clock = [0.0]
    monkeypatch.setattr(metrics, "monotonic", lambda: clock[0])
    asked: list[float] = []

    def due(_owner: object, seconds: float) -> bool:
        asked.append(seconds)
        return True

    monkeypatch.setattr(background, "due", due)
    parts = StepParts()
    one_step(parts, 8)
    told = TorchMetrics(parts, None, "vllm")
    for took in (2.0, 0.01, 0.01):
        told.collect = lambda took=took: clock.__setitem__(0, clock[0] + took)
        told.tick()

    assert [1.0, 30.0, 1.0] == asked


@pytest.mark.parametrize("said", ["none", ""])
def test_no_exporter_wanted(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    """OTEL_METRICS_EXPORTER=none sends nothing, and what was found does not pile up."""
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", said)
    monkeypatch.setattr(background, "due", lambda _owner, _seconds: True)
    parts, windows = StepParts(), ProfileWindows(10)
    windows.take = lambda: [shares(1.0, 5)]  # type: ignore[method-assign]
    told = TorchMetrics(parts, windows, "vllm")
    for _ in range(5):
        told.tick()

    assert metric_reader() is None
    assert [] == told._shares


@pytest.mark.parametrize(
    ("protocol", "endpoint", "sent_to"),
    [
        ("http/protobuf", "http://collector:4318/", "http://collector:4318/v1/metrics"),
        ("grpc", "http://c:4317", "c:4317"),
    ],
)
def test_where_metrics_go(
    monkeypatch: pytest.MonkeyPatch, protocol: str, endpoint: str, sent_to: str
) -> None:
    """They go where the shim's spans go, over the protocol that the standard variables name."""
    monkeypatch.delenv("OTEL_METRICS_EXPORTER", raising=False)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
    monkeypatch.setenv("OTEL_ATTRIB_OTLP_ENDPOINT", endpoint)
    make: Callable[[], MetricReader | None] = metric_reader

    reader = make()
    assert reader is not None
    try:
        assert sent_to == getattr(reader, "_exporter")._endpoint  # noqa: B009 # the SDK has no name for it
    finally:
        reader.shutdown()
