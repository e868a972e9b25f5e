"""`otel-attrib simulate`: what it prints, writes and refuses."""

import json
import shlex
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from otel_attrib.analytics.windows import parse_window
from otel_attrib.cli import main, parser
from otel_attrib.fleet import load_scenario, shipped, simulate
from otel_attrib.fleet.live import Live

SMALL = ("--set", "windows.requests=300", "--set", "windows.warmup=2")


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    """--list names every scenario once, within 80 columns; --json has the same."""
    assert main(["simulate", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert main(["simulate", "--list", "--json"]) == 0

    assert list(shipped()) == [line.split()[0] for line in lines]
    assert max(map(len, lines)) <= 80
    assert shipped() == json.loads(capsys.readouterr().out)["scenarios"]


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    """The truth is printed within 80 columns, with the layer at fault; nothing is written unasked."""
    assert main(["simulate", "cpu-hog", *SMALL]) == 0
    out = capsys.readouterr().out
    truth = simulate(load_scenario("cpu-hog", SMALL[1::2]), 0).truth

    assert f"{truth.before_ms:,.1f} → {truth.after_ms:,.1f} ms" in out
    assert f"cpu {truth.layers['cpu']:+,.1f}" in " ".join(out.split())
    assert "nothing (--dsn, --url or --out" in out
    assert max(map(len, out.splitlines())) <= 80


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    """--json gives the whole scenario, the truth by metric, and a question that the parser takes."""
    assert main(["simulate", "rtt", "--json", "--seed", "7", *SMALL, "--start", "2026-05-01T12:00:00Z"]) == 0
    found = json.loads(capsys.readouterr().out)
    asked = parser().parse_args(shlex.split(found["ask"])[1:])

    assert ("otel-attrib/simulate/1", 7, ["network"]) == (
        found["schema"],
        found["seed"],
        list(found["truth"]["ttft"]["layers"]),
    )
    assert "2026-05-01T12:00:00Z" == found["baseline"].partition("..")[0]
    assert found["baseline"].partition("..")[2] == found["current"].partition("..")[0]
    window = parse_window(found["current"], simulate(load_scenario("rtt", SMALL[1::2]), 7).scenario.starts)
    assert (str(window), 300) == (asked.window, found["scenario"]["windows"]["requests"])


def test_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    """--no-fault leaves no layer at fault."""
    assert main(["simulate", "rtt", "--json", "--no-fault", *SMALL]) == 0
    truth = json.loads(capsys.readouterr().out)["truth"]["ttft"]

    assert ({}, 0.0) == (truth["layers"], truth["fault_ms"])


def test_into_a_store_and_asked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What --fast inserts is what --json counts, and the printed question is answered from it."""
    dsn = f"chdb://{tmp_path}/store"
    assert main(["simulate", "slow-client", "--json", "--fast", "--dsn", dsn, *SMALL]) == 0
    found = json.loads(capsys.readouterr().out)
    sql = "SELECT count() AS n FROM requests"
    assert main(["sql", sql, "--dsn", dsn, "--format", "TSV"]) == 0

    assert found["requests"] == found["delivered"][0]["requests"] == int(capsys.readouterr().out)
    assert main([*shlex.split(found["ask"])[1:], "--json"]) in (0, 3, 4)
    report = json.loads(capsys.readouterr().out)
    assert report["current"]["n"] > 200


def test_live_asks_about_what_was_sent(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The question that --live prints has the windows as they were sent (to a fake), not as planned."""
    began = datetime(2026, 5, 2, 8, 30, tzinfo=UTC)
    monkeypatch.setattr("otel_attrib.fleet.live.send_live", lambda *_: Live(began, 10, 10, 0.0))
    monkeypatch.setattr(
        "otel_attrib.collector.imports.connection.delivery",
        lambda *_: nullcontext(SimpleNamespace(shown="a fake")),
    )
    assert main(["simulate", "rtt", "--json", "--live", "--url", "http://127.0.0.1:9", *SMALL]) == 0
    found = json.loads(capsys.readouterr().out)

    assert found["current"].startswith("2026-05-02T08:30:00")
    assert found["baseline"].endswith(found["current"].partition("..")[0])
    assert found["current"] in found["ask"] and found["requests"] == found["delivered"][0]["requests"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "name a scenario"),
        (["no-such"], "--list shows them"),
        (["rtt", "--fast"], "give its --dsn"),
        (["rtt", "--seed", "-1"], "--seed -1 is below 0"),
        (["rtt", "--set", "fault.kind=x"], "no fault 'x'"),
    ],
)
def test_usage(capsys: pytest.CaptureFixture[str], words: list[str], told: str) -> None:
    """What cannot be used is told in one line, exit code 2."""
    assert main(["simulate", *words]) == 2

    assert told in capsys.readouterr().err


def test_without_numba(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where numba is not installed, the extra that brings it is named."""
    import sys

    from otel_attrib.fleet import engine

    engine.kernel.cache_clear()
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.delitem(sys.modules, "otel_attrib.fleet.kernel", raising=False)
    monkeypatch.delattr("otel_attrib.fleet.kernel", raising=False)
    try:
        assert main(["simulate", "rtt", *SMALL]) == 1
    finally:
        engine.kernel.cache_clear()

    assert "pip install 'otel-attrib[simulate]'" in capsys.readouterr().err
