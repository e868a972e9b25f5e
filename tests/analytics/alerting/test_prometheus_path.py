"""The way of a site whose Prometheus evaluates: it scrapes a real `up`, runs the exported rules, tells
Alertmanager.

Spans of a simulated fleet go into `up` over OTLP. The objective's window is one hour, so its windows of
burn are five minutes and one.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from otel_attrib.fleet import load_scenario, simulate
from otel_attrib.fleet.otlp import request_exports

OBJECTIVE = """
apiVersion: openslo/v1
kind: SLO
metadata: {name: quick, displayName: Quick first tokens}
spec:
  service: chat
  indicator:
    metadata: {name: quick-within}
    spec:
      ratioMetric:
        counter: true
        good: {metricSource: {type: otel-attrib, spec: {limits: {ttft: 20ms}, where: {model: llama-3.1-8b}}}}
        total: {metricSource: {type: otel-attrib, spec: {where: {model: llama-3.1-8b}}}}
  timeWindow: [{duration: 1h, isRolling: true}]
  budgetingMethod: Occurrences
  objectives: [{target: 0.99}]
"""
CONFIG = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: otel-attrib
    static_configs: [{{targets: ["{up}"]}}]
alerting:
  alertmanagers:
    - static_configs: [{{targets: ["{alertmanager}"]}}]
"""
CLEAN = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "OTEL_ATTRIB_AGENT": "off"}
Start = Callable[..., tuple[str, "subprocess.Popen[bytes]"]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the objective."""
    (tmp_path / "slo.yaml").write_text(OBJECTIVE)
    return tmp_path


@pytest.fixture
def up(folder: Path) -> Iterator[dict[str, str]]:
    """A running service; its addresses."""
    ports = [f"--{name}-port=0" for name in ("otlp-grpc", "otlp-http", "clickhouse", "http")]
    command = [sys.executable, "-m", "otel_attrib", "up", "--json", *ports, f"--dsn=chdb://{folder}/store"]
    environment = {**CLEAN, "OTEL_ATTRIB_SLO": str(folder / "slo.yaml")}
    with (folder / "up.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment, cwd=folder)
    assert process.stdout
    yield json.loads(process.stdout.readline())
    process.terminate()
    process.wait(60)
    process.stdout.close()


def get(url: str) -> Any:
    """A JSON answer."""
    with urlopen(url, timeout=10) as answer:
        return json.load(answer)


def post(up: dict[str, str], bodies: list[bytes]) -> None:
    """Send spans."""
    for body in bodies:
        request = Request(f"{up['otlp_http']}/v1/traces", body, {"Content-Type": "application/x-protobuf"})
        with urlopen(request, timeout=60):
            pass


def wait_for(what: Callable[[], Any], seconds: float = 40) -> Any:
    """Until there is something."""
    end = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < end:
        time.sleep(0.2)
    assert found
    return found


def test_prometheus_to_webhook(
    folder: Path, up: dict[str, str], program: Callable[[str], str], hook: Any, alertmanager: Start
) -> None:
    """Slow requests become a burn alert at the receiver; Prometheus has exemplars of them."""
    receiver = hook()
    told, _ = alertmanager(receiver.url)
    rules, server = folder / "rules.yaml", f"127.0.0.1:{_port()}"
    export = ["alerts", "export", "--format", "prometheus", "--slo", str(folder / "slo.yaml")]
    subprocess.run(
        [sys.executable, "-m", "otel_attrib", *export, "--out", str(rules)],
        check=True,
        env=CLEAN,
        capture_output=True,
    )
    subprocess.run([program("promtool"), "check", "rules", str(rules)], check=True, capture_output=True)
    (folder / "prometheus.yml").write_text(
        CONFIG.format(rules=rules, up=up["http"].split("//")[1], alertmanager=told.split("//")[1])
    )
    command = [
        program("prometheus"),
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/tsdb",
        f"--web.listen-address={server}",
        "--enable-feature=exemplar-storage",
    ]
    found = simulate(load_scenario("null-stationary", ("windows.requests=150", "windows.warmup=2")), 0)
    now = found.starting(datetime.now(UTC).replace(microsecond=0) - found.length)
    bodies = [body for _, body in request_exports(now, 40)]
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        post(up, bodies[: len(bodies) // 2])
        wait_for(lambda: _value(server, "sum(gen_ai_server_time_to_first_token_seconds_count)"))
        post(up, bodies[len(bodies) // 2 :])

        body = receiver.wait_for(lambda got: got[0] if got else None, 45)
        exemplars = get(
            f"http://{server}/api/v1/query_exemplars?query=gen_ai_server_time_to_first_token_seconds_bucket"
            f"&start={time.time() - 600}&end={time.time() + 60}"
        )
    finally:
        process.terminate()
        process.wait(20)

    alert = body["alerts"][0]
    assert ("SloBurnTicket", "quick", "prometheus") == tuple(
        alert["labels"][name] for name in ("alertname", "slo", "source")
    )
    assert alert["annotations"]["summary"].startswith("Quick first tokens burns its budget: ")
    traces = {one["labels"]["trace_id"] for series in exemplars["data"] for one in series["exemplars"]}
    assert traces
    assert traces <= set(now.requests["trace_id"].to_pylist())


def _value(server: str, query: str) -> float:
    try:
        found = get(f"http://{server}/api/v1/query?query={query}")["data"]["result"]
    except OSError:
        return 0.0
    return float(found[0]["value"][1]) if found else 0.0


def _port() -> int:
    import socket

    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])
