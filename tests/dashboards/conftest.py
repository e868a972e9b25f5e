"""A store as a site has one: a model fleet with its counters, a real vLLM's recording, marks, verdicts."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from otel_attrib.demo.recording import load_recording, shifted_body
from otel_attrib.fleet import load_scenario, simulate
from otel_attrib.fleet.otlp import metric_exports, request_exports, step_exports
from otel_attrib.schema.context_counters import EVERY_COUNTER
from otel_attrib.schema.ingest import insert_metrics, insert_traces
from otel_attrib.schema.migrate import migrate
from otel_attrib.schema.reports import ReportRow, into_store
from otel_attrib.schema.store import Store, open_store

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.dashboards.macros import View

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
STAMP = pa.timestamp("us", "UTC")
AGENT = [counter.key for counter in EVERY_COUNTER if counter.key.startswith("agent_")]


@pytest.fixture(scope="module")
def site() -> Iterator[Store]:
    """The store; everything in it lies between noon and five past."""
    simulation = simulate(
        load_scenario(
            "nvlink-degraded-tp2",
            ("windows.requests=150", "windows.warmup=1", "workload.rate=10", "sensors.timeline=true"),
        ),
        0,
    ).starting(NOON)
    with open_store("chdb://memory/dashboards_site") as store:
        migrate(store)
        insert_traces(store, [body for _, body in request_exports(simulation)], "requests")
        insert_traces(store, [body for _, body in step_exports(simulation)], "steps")
        insert_metrics(store, [body for _, body in metric_exports(simulation)], "metrics")
        recording = load_recording()
        by_ns = int(NOON.timestamp()) * 10**9 - recording.story.phases[0].start_ns
        insert_traces(store, [shifted_body(body, by_ns) for body in recording.bodies[:40]], "recorded")
        _told(store)
        yield store


@pytest.fixture(scope="module")
def view(site: Store) -> View:
    """All of it, ten seconds a point, one of the slow requests chosen."""
    slow = site.rows(
        "SELECT trace_id FROM requests WHERE service = 'model-fleet' ORDER BY ttft_us DESC LIMIT 1"
    )
    chosen = {"trace": slow[0]["trace_id"], "ttft_limit_ms": "2000", "tpot_limit_ms": "200", "target": "0.99"}
    return View(NOON - timedelta(minutes=1), NOON + timedelta(minutes=5), 10, chosen)


@pytest.fixture
def at_noon() -> datetime:
    """When everything begins."""
    return NOON


def _told(store: Store) -> None:
    """A deploy, a verdict, a request with its own deadline, and an agent that reports of itself."""
    mark = {"time": [NOON + timedelta(seconds=20)], "kind": ["deploy"], "name": ["v2"], "service": [""]}
    store.insert_arrow("marks", pa.table({**mark, "time": pa.array(mark["time"], STAMP)}))
    into_store(store)(
        ReportRow(
            time=NOON + timedelta(minutes=2),
            incident="inc-1",
            state="open",
            onset=NOON + timedelta(minutes=1),
            service="model-fleet",
            model="qwen3-32b",
            metric="ttft",
            quantile=0.99,
            where={},
            verdict="attributed",
            layer="nvlink",
            delta_ms=120.0,
            report="{}",
            hash="0",
        )
    )
    _samples(store)


def _samples(store: Store) -> None:
    """What the model fleet's sensors lack: the agents' own figures, a clock's, a card's memory."""
    words = {"agent_lost": {"error.type": "queue_full"}}
    rows = []
    for counter in EVERY_COUNTER:
        if counter.key in (*AGENT, "clock_uncertainty", "gpu_memory_used"):
            source = {"slatag.agent.source": "nvml"} if counter.key.startswith("agent_source") else {}
            said = {**source, **words.get(counter.key, {})}
            device = "GPU-0" if counter.per_device else ""
            rows += [
                (NOON + timedelta(seconds=10 * n), counter.metric, "node-0", device, said, 0.25 * n)
                for n in range(1, 5)
            ]
    times, metrics, nodes, devices, attributes, values = map(list, zip(*rows, strict=True))
    columns = {
        "time": pa.array(times, STAMP),
        "metric": metrics,
        "node": nodes,
        "device": devices,
        "attributes": pa.array([list(one.items()) for one in attributes], pa.map_(pa.string(), pa.string())),
        "value": values,
    }
    store.insert_arrow("samples", pa.table(columns))
