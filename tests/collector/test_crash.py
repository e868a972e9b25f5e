"""`kill -9` of the service while it receives: what was acknowledged is there, once."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from otel_attrib import testing_otlp as bodies

pytestmark = pytest.mark.faults

CRASHES = 20
SENDERS = 4
SPANS = 50
HEADERS = {"Content-Type": "application/x-protobuf"}
# Not typed: conftest modules cannot be imported.
Up = Any


class Sender(threading.Thread):
    """Sends requests one after the other; tries each again, byte for byte, until it is acknowledged."""

    def __init__(self) -> None:
        """Know no address yet."""
        super().__init__(daemon=True)
        self.url = ""
        self.acknowledged = 0
        self.retried = 0
        self.ending = threading.Event()

    def run(self) -> None:
        """Send until told to end; the last request is acknowledged, too."""
        while not self.ending.is_set():
            body = bodies.traces(SPANS, name="crash").SerializeToString()
            while not self._send(body):
                self.retried += 1
                time.sleep(0.02)
            self.acknowledged += SPANS

    def _send(self, body: bytes) -> bool:
        try:
            answer = httpx.post(f"{self.url}/v1/traces", content=body, headers=HEADERS, timeout=30)
        except httpx.HTTPError:
            return False
        return answer.status_code == 200


def test_killed_while_receiving(up: Callable[..., Up], tmp_path: Path) -> None:
    """Twenty times: no acknowledged span is missing, none is there twice, nor in the rollup."""
    random, senders = Random(1), [Sender() for _ in range(SENDERS)]
    service = up(directory=tmp_path)
    for sender in senders:
        sender.url = service["otlp_http"]
        sender.start()
    for _ in range(CRASHES):
        time.sleep(random.uniform(0.05, 0.6))
        service.kill()
        service = up(directory=tmp_path)
        for sender in senders:
            sender.url = service["otlp_http"]
    for sender in senders:
        sender.ending.set()
    for sender in senders:
        sender.join(60)
    acknowledged = sum(sender.acknowledged for sender in senders)

    assert acknowledged > CRASHES * SPANS
    assert sum(sender.retried for sender in senders) >= CRASHES
    expected = f"{acknowledged}\t{acknowledged}"
    service.wait_for("SELECT count(), uniqExact(SpanId) FROM otel_traces WHERE SpanName = 'crash'", expected)
    assert f"{acknowledged}" == service.query(
        "SELECT uniqExact(TraceId) FROM otel_traces_trace_id_ts WHERE TraceId IN"
        " (SELECT TraceId FROM otel_traces WHERE SpanName = 'crash')"
    )
    assert 0 == service.stop()


def test_requests_survive_in_rollups_once(up: Callable[..., Up], tmp_path: Path) -> None:
    """Request rows, and the counts of the 10 s rollup behind them, equal what was acknowledged."""
    service = up(directory=tmp_path)
    sent = 0
    for _ in range(4):
        for _ in range(5):
            body = requests(20).SerializeToString()
            assert (
                200
                == httpx.post(f"{service['otlp_http']}/v1/traces", content=body, headers=HEADERS).status_code
            )
            sent += 20
        service.kill()
        service = up(directory=tmp_path)

    service.wait_for("SELECT count(), uniqExact(span_id) FROM requests", f"{sent}\t{sent}")
    service.wait_for("SELECT sum(requests) FROM requests_10s", f"{sent}")


def requests(count: int) -> Any:
    """So many requests of an LLM server, as our shim reports them."""
    export = bodies.traces(count, name="chat llama")
    scope = export.resource_spans[0].scope_spans[0]
    scope.scope.name = "otel_attrib.request"
    for span in scope.spans:
        span.attributes.add(key="slatag.first_byte_latency_us").value.double_value = 1000.0
        span.attributes.add(key="slatag.stage.queue_us").value.double_value = 600.0
        span.attributes.add(key="slatag.stage.prefill_us").value.double_value = 400.0
    return export
