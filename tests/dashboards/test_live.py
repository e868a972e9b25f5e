"""The dashboards' queries against the real thing: `otel-attrib up`, its ClickHouse port, a real Prometheus.

A service gets a real vLLM's recorded spans for some seconds; Prometheus scrapes it each second meanwhile.
Skipped where scripts/services.sh has not put Prometheus under build/services.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from otel_attrib.dashboards.boards import NAMES, texts
from otel_attrib.demo.recording import load_recording, shifted_body

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.dashboards.macros import View

BIN = Path(__file__).parents[2] / "build/services/usr/bin"
SECONDS = 8
# A line for each incident that is open: there is none in eight seconds of steady traffic.
QUIET = {"Open incidents"}
BOARDS: dict[str, dict[str, Any]] = {name: json.loads(text) for name, text in texts().items()}


def targets(kind: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Dashboard, panel title and target of every query of one kind: `expr` or `rawSql`."""
    return [
        (name, panel["title"], target)
        for name in NAMES
        for panel in BOARDS[name]["panels"]
        if panel["type"] != "row"
        for target in panel["targets"]
        if kind in target
    ]


def expanded(expr: str) -> str:
    """PromQL as Grafana sends it: all values chosen, and the rate over some scrapes."""
    return expr.replace("$__rate_interval", "6s").replace("$service", ".*").replace("$model", ".*")


@pytest.fixture(scope="module")
def tools() -> Path:
    """Where Prometheus and promtool lie."""
    if not (BIN / "prometheus").exists():
        pytest.skip("prometheus is not under build/services: run scripts/services.sh")
    return BIN


@dataclass(frozen=True)
class Live:
    """What runs: addresses of the service, the address of Prometheus, a trace that it holds."""

    up: dict[str, str]
    prometheus: str
    trace: str


@contextmanager
def running(*words: str, **more: Any) -> Iterator[subprocess.Popen[str]]:
    """A process of ours, ended at the end."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **more)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)
        if process.stdout:
            process.stdout.close()


@pytest.fixture(scope="module")
def live(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A service with traffic, and a Prometheus that has scraped it."""
    folder = tmp_path_factory.mktemp("live")
    ports = [
        word for name in ("otlp-grpc", "otlp-http", "clickhouse", "http") for word in (f"--{name}-port", "0")
    ]
    serve = [sys.executable, "-m", "otel_attrib", "up", "--json", "--dsn", f"chdb://{folder}/store", *ports]
    (folder / "slo.yaml").write_text(_said("slo", "preset", "llama2-70b-interactive"))
    _said("simulate", "cpu-hog", "--dsn", f"chdb://{folder}/store", "--fast", *_EARLIER)
    settings = {
        "OTEL_ATTRIB_AGENT": "off",
        "OTEL_ATTRIB_ALERTS": "on",
        "OTEL_ATTRIB_SLO": f"{folder}/slo.yaml",
    }
    with running(*serve, env={**os.environ, **settings}) as service:
        assert service.stdout
        up = json.loads(service.stdout.readline())
        config = {
            "global": {"scrape_interval": "1s"},
            "scrape_configs": [
                {"job_name": "otel-attrib", "static_configs": [{"targets": [up["http"].split("//")[1]]}]}
            ],
        }
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        port = _free_port()
        watch = [
            str(tools / "prometheus"),
            f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/tsdb",
            f"--web.listen-address=127.0.0.1:{port}",
            "--enable-feature=exemplar-storage",
        ]
        with running(*watch) as _:
            trace = _traffic(up)
            yield Live(up, f"http://127.0.0.1:{port}", trace)


# Objectives are judged by whole minutes: some minutes of a model fleet lie in the store before.
_EARLIER = ("--set", "windows.requests=500", "--set", "windows.warmup=1", "--set", "workload.rate=5")


def _said(*words: str) -> str:
    """What a command prints."""
    command = [sys.executable, "-m", "otel_attrib", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _free_port() -> int:
    import socket

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        found: int = listening.getsockname()[1]
        return found


def _traffic(up: dict[str, str]) -> str:
    """Recorded spans, as of now, for some seconds; a body that is none; a statement. Return a trace's id."""
    recording = load_recording()
    bodies = recording.bodies[: 4 * SECONDS]
    kind = {"Content-Type": "application/x-protobuf"}
    with httpx.Client(timeout=30) as client:
        for body in bodies:
            by_ns = time.time_ns() - recording.story.phases[0].start_ns - 10**9
            client.post(f"{up['otlp_http']}/v1/traces", content=shifted_body(body, by_ns), headers=kind)
            client.post(f"{up['otlp_http']}/v1/traces", content=b"no spans", headers=kind)
            client.post(up["clickhouse"], content=b"SELECT 1")
            time.sleep(SECONDS / len(bodies))
        found = client.post(up["clickhouse"], content=b"SELECT any(trace_id) FROM requests WHERE ttft_us > 0")
    return found.text.strip()


@pytest.mark.parametrize(
    ("title", "target"),
    [(title, target) for name, title, target in targets("expr") if name == "prometheus"],
    ids=lambda value: value if isinstance(value, str) else value["refId"],
)
def test_every_promql_query_has_series(title: str, target: dict[str, Any], live: Live) -> None:
    """A real Prometheus that scrapes a real service has numbers for each query while traffic came."""
    now = time.time()
    params: dict[str, str | float] = {
        "query": expanded(target["expr"]),
        "start": now - 90,
        "end": now,
        "step": 1,
    }
    asked = httpx.get(f"{live.prometheus}/api/v1/query_range", params=params, timeout=10)

    assert asked.status_code == 200, asked.text
    if title in QUIET:
        return
    values = [float(value) for one in asked.json()["data"]["result"] for _, value in one["values"]]
    assert [value for value in values if value >= 0], values


def test_the_variables_of_prometheus_have_values(live: Live) -> None:
    """`label_values(metric, label)` of each variable finds the recorded service and model."""
    for variable in BOARDS["prometheus"]["templating"]["list"]:
        if variable["type"] == "query":
            found = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"])
            assert found
            asked = httpx.get(
                f"{live.prometheus}/api/v1/label/{found[2]}/values", params={"match[]": found[1]}, timeout=10
            )
            assert asked.json()["data"]


def test_a_p99_dot_of_prometheus_is_a_stored_trace(live: Live) -> None:
    """The exemplars beside the P99 of TTFT carry ids of traces that the store can open."""
    (target,) = [
        one
        for name, title, one in targets("expr")
        if name == "prometheus" and title == "TTFT: P50, P95, P99" and one.get("exemplar")
    ]
    now = time.time()
    params: dict[str, str | float] = {"query": expanded(target["expr"]), "start": now - 300, "end": now}
    asked = httpx.get(f"{live.prometheus}/api/v1/query_exemplars", params=params, timeout=10).json()
    ids = {one["labels"]["trace_id"] for series in asked["data"] for one in series["exemplars"]}

    assert ids
    listed = ",".join(f"'{one}'" for one in sorted(ids))
    statement = f"SELECT uniqExact(trace_id) FROM requests WHERE trace_id IN ({listed})"
    assert str(len(ids)) == httpx.post(live.up["clickhouse"], content=statement, timeout=10).text.strip()


def test_promtool_reads_every_expression(tools: Path, tmp_path: Path) -> None:
    """Each PromQL expression of every dashboard is one that promtool takes, as the expression of a rule."""
    rules = [
        {"record": f"panel:{number}", "expr": expanded(target["expr"])}
        for number, (_, _, target) in enumerate(targets("expr"))
    ]
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "dashboards", "rules": rules}]}))
    done = subprocess.run(
        [tools / "promtool", "check", "rules", path], capture_output=True, text=True, timeout=30
    )

    assert (0, True) == (done.returncode, f"SUCCESS: {len(rules)} rules found" in done.stdout), done.stderr


def test_the_clickhouse_port_takes_every_statement(live: Live) -> None:
    """What the data source sends over HTTP passes the read-only port's guard, as its reader user."""
    end = datetime.now(UTC) + timedelta(minutes=1)
    chosen = {"trace": live.trace, "ttft_limit_ms": "2000", "tpot_limit_ms": "200", "target": "0.99"}
    view = View(end - timedelta(hours=1), end, 10, chosen)
    refused = []
    with httpx.Client(timeout=60, headers={"X-ClickHouse-User": "readonly"}) as client:
        for name, title, target in targets("rawSql"):
            answer = client.post(live.up["clickhouse"], content=view.expanded(target["rawSql"]))
            if answer.status_code != 200:
                refused.append((name, title, answer.text[:200]))

    assert [] == refused
