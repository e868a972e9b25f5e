"""A real vLLM with tail sampling and JSON lines: what is stored adds up, and lines name the stored spans."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.demo.client import exchange
from otel_attrib.demo.environment import CANNOT_RUN_HERE, INSTALLER, ensure_model, folder, server_environment
from otel_attrib.demo.process import free_port
from otel_attrib.demo.server import MODEL_NAME, start_vllm
from otel_attrib.demo.service import Service

pytestmark = pytest.mark.vllm

ASKED = 40
TRACE = "0af7651916cd43dd8448eb211c80319c"
SETTINGS = {
    "OTEL_ATTRIB_LOG_FORMAT": "json",
    "OTEL_ATTRIB_TAIL_SAMPLE": "0.25",
    "OTEL_ATTRIB_TAIL_QUANTILE": "0",
    "OTEL_ATTRIB_TAIL_TRICKLE": "0",
}


@dataclass(frozen=True)
class Served:
    """What a server that answered `ASKED` requests left behind."""

    service: Service
    log: list[str]

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The JSON lines that name a trace."""
        found = [json.loads(line) for line in self.log if line.startswith("{")]
        return [line for line in found if "trace_id" in line]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve the requests, the first with a trace of the caller's and a wish to be kept."""
    asked_for = os.environ.get("OTEL_ATTRIB_TEST_VLLM") == "1"
    done = subprocess.run(["bash", str(INSTALLER), *([] if asked_for else ["--check"])], capture_output=True)
    if done.returncode == CANNOT_RUN_HERE or (done.returncode and not asked_for):
        pytest.skip("vLLM is not set up: `make vllm` does it")
    base, port = tmp_path_factory.mktemp("sampled"), free_port()
    with Service(base / "service") as service:
        env = server_environment() | SETTINGS | {"OTEL_ATTRIB_OTLP_ENDPOINT": service.otlp_grpc}
        run = (sys.executable, "-m", "otel_attrib", "run", "--")
        options = ("--enable-log-requests",)
        programs, model = folder() / "bin", ensure_model()
        with start_vllm(programs, model, port, base / "log", env, before=run, after=options):
            asyncio.run(_ask(port))
            time.sleep(7.0)  # the totals are sent every five seconds
        yield Served(service, Path(base / "log").read_text("utf-8").splitlines())


async def _ask(port: int) -> None:
    message = {"role": "user", "content": "import os"}
    body = {"model": MODEL_NAME, "stream": True, "max_tokens": 8, "ignore_eos": True, "messages": [message]}
    for number in range(ASKED):
        headers = {"content-type": "application/json"}
        if number == 0:
            headers |= {"x-slatag-keep": "1", "traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}
        await exchange(port, "/v1/chat/completions", headers, json.dumps(body).encode())


def test_kept_and_dropped_add_up(served: Served) -> None:
    """One was asked for, the others are kept for four each or counted as sampled away: together all."""
    weights = {row["weight"]: row["n"] for row in served.service.rows(
        "SELECT weight, count() AS n FROM requests GROUP BY weight"
    )}  # fmt: skip
    totals = {
        (row["metric"], row["reason"]): row["total"]
        for row in served.service.rows(
            "SELECT metric, attributes['slatag.sample.reason'] AS reason, max(value) AS total FROM samples "
            "WHERE metric LIKE 'slatag.requests.%' GROUP BY metric, reason"
        )
    }

    assert {1, 4} == set(weights)
    assert 1 == weights[1] == totals[("slatag.requests.kept", "asked")]
    assert weights[4] == totals[("slatag.requests.kept", "rest")]
    assert ASKED == sum(totals.values())


def test_lines_name_the_stored_spans(served: Served) -> None:
    """Every request's lines carry one trace and span; of the kept ones those of the stored span."""
    stored = {
        row["trace_id"]: row["span_id"]
        for row in served.service.rows("SELECT trace_id, span_id FROM requests")
    }
    said = {line["trace_id"]: line["span_id"] for line in served.lines}

    assert ASKED == len(said)
    assert stored.items() <= said.items()
    assert any(
        "Received request chatcmpl-" in line["message"] for line in served.lines if line["trace_id"] == TRACE
    )
    assert {"vllm"} == {line["logger"].partition(".")[0] for line in served.lines}
