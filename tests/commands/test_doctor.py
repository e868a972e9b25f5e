"""`doctor` prints every finding and fails when one of them does."""

import json
from collections.abc import Callable

import pytest

from otel_attrib.cli import main
from otel_attrib.commands.doctor_ import lines
from otel_attrib.doctor.check import fail
from otel_attrib.schema.store import Store

Run = Callable[..., str]
PORTS = ("OTLP_GRPC", "OTLP_HTTP", "CLICKHOUSE", "HTTP")


@pytest.fixture(autouse=True)
def free_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    """No port of the machine that runs the tests is looked at."""
    for name in PORTS:
        monkeypatch.setenv(f"OTEL_ATTRIB_{name}_PORT", "0")


def test_a_sound_installation(run: Run) -> None:
    """With a migrated store nothing fails; the first line counts, each finding has a level and a name."""
    told = json.loads(run("doctor", "--json"))
    first, blank, *rest = run("doctor").splitlines()

    assert 0 == told["counts"]["FAIL"]
    assert {"store", "schema", "clock", "NTP", "OpenTelemetry", "entry points", "OTEL_*", "listeners"} <= {
        found["name"] for found in told["findings"]
    }
    assert f"{told['counts']['OK']} OK" in first
    assert "" == blank
    assert [] == [line for line in rest if len(line) > 80]


def test_a_broken_store_fails(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1, with the fix below the finding."""
    assert 1 == main(["doctor", "--dsn", "clickhouse://127.0.0.1:1/db"])
    text = " ".join(capsys.readouterr().out.split())

    assert text.startswith("1 FAIL")
    assert "fix: correct --dsn or OTEL_ATTRIB_DSN, or start the server" in text


def test_every_fix_is_shown(run: Run, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A warning carries what to do; warnings alone are exit code 0."""
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    told = json.loads(run("doctor", "--json"))

    assert [] == [found for found in told["findings"] if found["level"] != "OK" and not found["fix"]]
    assert "OTEL_TRACES_EXPORTER=none: spans do not reach a collector" in {
        found["text"] for found in told["findings"]
    }


def test_long_lines_are_wrapped() -> None:
    """Text and fix stay within 80 columns under the finding's own column."""
    shown = lines(fail("name", "word " * 30, "do " * 40))

    assert shown[0].startswith("FAIL  name ")
    assert [] == [line for line in shown if len(line) > 80]
    assert any(line.strip().startswith("fix: do") for line in shown)
