"""`otel-attrib alerts`: what it prints, writes, keeps and refuses."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import yaml

from otel_attrib.cli import main
from otel_attrib.schema.store import Store

Run = Callable[..., str]
ROOT = Path(__file__).parents[2]
SLO = str(ROOT / "examples/slo")


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """A webhook that takes everything, set as who is told."""
    got: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("OTEL_ATTRIB_WEBHOOKS", f"http://127.0.0.1:{server.server_address[1]}/x")
    yield got
    server.shutdown()
    server.server_close()
    thread.join()


def test_nothing_fires(run: Run) -> None:
    """Without incidents the answer is one line; as JSON an empty list."""
    assert "nothing fires\n" == run("alerts")
    assert [] == json.loads(run("alerts", "list", "--json"))["items"]


def test_silences(run: Run) -> None:
    """A silence is made, listed and ended; an end that is none is told."""
    made = run("alerts", "silence", "model=m", "severity=ticket", "--comment", "load test", "--by", "me")
    name = made.split()[0]

    assert "by me: load test\n  model=m severity=ticket\n" == made.split("Z ")[1]
    assert made == run("alerts", "silence")
    assert name in run("alerts", "silence", "--end", name)
    assert "nothing is silenced\n" == run("alerts", "silence")
    assert name in run("alerts", "silence", "--end", name, code=1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nonsense",), "no part 'nonsense'"),
        (("list", "more"), "takes no further words"),
        (("silence", "model"), "no condition on a label"),
        (("silence", "model=m"), "who silences it and why"),
        (("export",), "--format prometheus, grafana or grafana-api"),
        (
            ("export", "--format", "prometheus", "--slo", SLO, "--limits", "refuse"),
            "cannot tell these",
        ),
        (("test",), "nobody to tell"),
        (("run",), "nobody to tell"),
    ],
)
def test_mistakes(run: Run, words: tuple[str, ...], message: str) -> None:
    """What cannot be done exits 2 with one line that says what to do."""
    told = run("alerts", *words, code=2)

    assert message in told
    assert 1 == len(told.splitlines())


def test_export(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules for Prometheus and Grafana are files that parse; what is not exact is told beside them."""
    monkeypatch.setenv("OTEL_ATTRIB_METRICS_LABELS", "sla_class")
    path = tmp_path / "rules.yaml"

    assert f"wrote {path}\n" == run(
        "alerts", "export", "--format", "prometheus", "--slo", SLO, "--out", str(path)
    )
    assert 5 == len(yaml.safe_load(path.read_text())["groups"])
    assert 1 == yaml.safe_load(run("alerts", "export", "--format", "grafana", "--slo", SLO))["apiVersion"]
    assert 7 == len(json.loads(run("alerts", "export", "--format", "grafana-api", "--slo", SLO)))


def test_export_tells_what_is_not_exact(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the label that an objective needs its rules rest on the service's rates; stderr says so."""
    assert 0 == main(["alerts", "export", "--format", "prometheus", "--slo", SLO])

    told = capsys.readouterr()
    assert 3 == len(told.err.splitlines())
    assert "metrics_labels can add sla_class" in told.err
    assert "otel_attrib_slo_burn_rate" in told.out


def test_check(run: Run, receiver: list[bytes]) -> None:
    """What is watched and told is said, without secrets, and nothing is sent."""
    told = run("alerts", "check", "--slo", SLO)

    assert "looks for incidents" in told.splitlines()[0]
    assert "P99 of ttft, tpot" in told
    assert "/x" not in told
    assert [] == receiver
    assert 3 == len(json.loads(run("alerts", "check", "--slo", SLO, "--json"))["objectives"])


def test_test(run: Run, receiver: list[bytes]) -> None:
    """A test alert says that it is one, and the command what was answered."""
    told = run("alerts", "test")

    (body,) = map(json.loads, receiver)
    (alert,) = body["alerts"]
    assert "OtelAttribTest" == alert["name"]
    assert "nothing is wrong" in alert["annotations"]["summary"]
    assert told.startswith("1 of 1 took the test alert test-")


def test_test_not_taken(run: Run, receiver: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who does not take it is exit code 1, and the others are told all the same."""
    monkeypatch.setenv("OTEL_ATTRIB_ALERTMANAGER", "http://user:secret@127.0.0.1:9")

    run("alerts", "test", code=1)

    assert 1 == len(receiver)


def test_lines_are_at_most_80_columns(run: Run, receiver: list[bytes]) -> None:
    """What people read fits 80 columns."""
    for words in (("check", "--slo", SLO), ("test",), ("list",)):
        assert max(map(len, run("alerts", *words).splitlines())) <= 80
