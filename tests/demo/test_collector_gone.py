"""A shim whose collector is gone neither breaks nor slows its server, and counts what it lost."""

import asyncio
import re
from pathlib import Path

import pytest

from otel_attrib.demo.arrivals import load, paced
from otel_attrib.demo.checks import quantile
from otel_attrib.demo.environment import server_environment
from otel_attrib.demo.process import free_port
from otel_attrib.demo.replay import Outcome, replay
from otel_attrib.demo.server import start_vllm
from otel_attrib.demo.service import OURS, Service
from otel_attrib.demo.workload import plan

pytestmark = pytest.mark.vllm

REQUESTS, RATE = 150, 15.0


def send(port: int, name: str, words: int) -> list[Outcome]:
    """Send the same traffic, in other words."""
    planned = plan(paced(load()[:REQUESTS], RATE, 5.0), seed=1, words_seed=words)
    return asyncio.run(replay(planned, port, name))


def good(outcomes: list[Outcome]) -> list[Outcome]:
    """Requests that were answered in full."""
    return [o for o in outcomes if o.seen.http_status == 200 and not o.seen.truncated and not o.seen.given_up]


def median_ttft(outcomes: list[Outcome]) -> float:
    """Median TTFT of the streamed ones, in ms."""
    found = quantile([o.ttft_us for o in outcomes if o.kind == "stream" and o.ttft_us], 0.5)
    assert found is not None
    return found


def test_collector_gone(vllm: Path, model: Path, tmp_path: Path) -> None:
    """Every request is answered as before once the collector is gone, and the lost spans are counted."""
    log, port = tmp_path / "vllm.log", free_port()
    with Service(tmp_path) as service:
        before = (*OURS, "run", f"--otlp={service.otlp_grpc}", "--")
        server = start_vllm(vllm, model, port, log, server_environment(), before=before)
        try:
            send(port, "warm-up", 1)
            with_collector = send(port, "there", 2)
            service.child.stop()
            without = send(port, "gone", 3)
        finally:
            server.stop()
    lost = [int(count) for count in re.findall(r"otel-attrib: .*failed=(\d+)", log.read_text())]

    wanted = [o for o in with_collector if o.kind in ("stream", "whole")]
    assert len(wanted) == len(good(with_collector)) == len(good(without))
    assert median_ttft(without) < 2 * median_ttft(with_collector) + 5
    assert sum(lost) > 0
