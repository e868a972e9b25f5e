"""`up` and `serve` as processes: the API on the HTTP port, the same answers from both, and their refusals."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from otel_attrib import testing_otlp as bodies

PORTS = [f"--{name}-port=0" for name in ("otlp-grpc", "otlp-http", "clickhouse", "http")]


@contextmanager
def running(*words: str) -> Iterator[dict[str, Any]]:
    """One `otel-attrib` command that serves, until the end of the block; it must end with 0."""
    command = [sys.executable, "-m", "otel_attrib", *words, "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout and process.stderr
        line = process.stdout.readline()
        if not line:
            pytest.fail(process.stderr.read())
        yield json.loads(line)
    finally:
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert (0, "") == (process.returncode, said)


def refused(*words: str) -> str:
    """What a command says that does not start."""
    done = subprocess.run(
        [sys.executable, "-m", "otel_attrib", *words], capture_output=True, text=True, timeout=60
    )
    assert 2 == done.returncode
    return done.stderr


def test_up_and_serve_answer_alike(tmp_path: Path) -> None:
    """`serve` on the ClickHouse port of an `up` gives the very answers of that `up`; both stop cleanly."""
    store = ["--dsn", f"chdb://{tmp_path}/store", "--spool", str(tmp_path / "spool")]
    with running("up", *store, *PORTS) as up:
        sent = httpx.post(
            f"{up['otlp_http']}/v1/traces",
            content=bodies.traces(5).SerializeToString(),
            headers={"Content-Type": "application/x-protobuf"},
        )
        assert 200 == sent.status_code
        where = up["clickhouse"].removeprefix("http://")
        with running("serve", "--dsn", f"clickhouse://{where}/otel_attrib", "--http-port=0") as alone:
            at = "at=2030-01-01T00:00:00Z"
            paths = (
                f"quantiles?{at}",
                f"why?{at}",
                f"heatmap?{at}",
                "trace/none",
                "slo",
                "quantiles?metric=x",
            )
            asked = {
                name: [httpx.get(f"{one['http']}/api/v1/{path}", timeout=60) for path in paths]
                for name, one in (("up", up), ("serve", alone))
            }
            status = httpx.get(f"{alone['http']}/api/v1/status").json()
            ready = httpx.get(f"{alone['http']}/readyz").text

    for ours, theirs in zip(asked["up"], asked["serve"], strict=True):
        assert (ours.status_code, ours.content) == (theirs.status_code, theirs.content)
    assert [200, 200, 200, 404, 200, 422] == [each.status_code for each in asked["up"]]
    assert (up["clickhouse"], "otel_attrib", "ok\n") == (status["clickhouse"], status["database"], ready)


def test_serve_needs_a_server(tmp_path: Path) -> None:
    """An embedded store is `up`'s to serve, and `serve` says so."""
    said = refused("serve", "--dsn", f"chdb://{tmp_path}/store")

    assert "`otel-attrib up`" in said and 1 == said.count("\n")


def test_a_bad_file_of_tokens_stops_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service whose tokens cannot be read does not start without them."""
    monkeypatch.setenv("OTEL_ATTRIB_TOKENS", str(tmp_path / "none"))

    said = refused("up", "--dsn", "chdb://memory", *PORTS)

    assert "setting tokens" in said and 1 == said.count("\n")
