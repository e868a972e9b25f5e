"""`why` asked about a simulated fleet in a store, whose cause is known: exit code, first line, sums."""

import json
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from otel_attrib.cli import main
from otel_attrib.fleet import Simulation, load_scenario, simulate
from otel_attrib.fleet.deliver import deliver_fast
from otel_attrib.schema.store import Store

SMALL = ("fleet.gpus_per_node=2", "windows.baseline=100", "windows.current=100")
Asked = Callable[..., int]


@cache
def simulated(name: str) -> Simulation:
    """A small fleet in which the named thing happens."""
    return simulate(load_scenario(name, SMALL), seed=0)


@pytest.fixture
def asked(store: Store) -> Iterator[Asked]:
    """Store a scenario, ask about its two windows."""

    def ask(name: str, *words: str) -> int:
        baseline, current = simulated(name).windows
        if not store.rows("SELECT 1 FROM requests LIMIT 1"):
            deliver_fast(simulated(name), store, lambda count: None)
        windows = ("--window", str(current), "--baseline", str(baseline))
        return main(["why", *windows, *words, "--dsn", f"chdb://memory/{store.database}"])

    yield ask
    for table in ("steps", "samples"):
        store.command(f"TRUNCATE TABLE {table}")


@pytest.mark.parametrize(
    ("name", "code", "told"),
    [
        ("packet-loss", 3, "network +"),
        ("null-arrival-burst", 3, "more requests arrived, no layer at fault"),
        ("null-prompt-mix", 3, "the prompts became longer, no layer at fault"),
        ("null-stationary", 0, "shows no regression"),
    ],
)
def test_what_happened_is_what_is_said(
    asked: Asked, capsys: pytest.CaptureFixture[str], name: str, code: int, told: str
) -> None:
    """A known cause is named in the first line, load is load, and nothing is nothing."""
    assert code == asked(name)
    lines = capsys.readouterr().out.splitlines()

    assert lines[0].startswith("P99 TTFT ") and told in lines[0]
    assert [] == [line for line in lines if len(line) > 80]


def test_the_cause_is_where_it_was_put(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    """Packets lost on one node: its requests, its counters, the stage that reads requests; sums hold."""
    asked("packet-loss", "--json")
    body = json.loads(capsys.readouterr().out)

    assert "CAUSE" == body["verdict"]
    assert {"node": "node-0"} == body["slice"]["where"]
    assert "network" == max(body["layers"], key=lambda layer: body["layers"][layer]["ms"])
    assert "ingress" == max(body["stages"], key=lambda stage: body["stages"][stage]["ms"])
    spoken = {item["counter"] for item in body["evidence"] if item["for"] and item["layer"] == "network"}
    assert "tcp_retransmits" in spoken
    rest = body["workload_ms"] + body["load_ms"]
    for lines, left in (
        (body["layers"], body["unexplained_ms"]),
        (body["stages"], body["checks"]["stages_unexplained_ms"]),
    ):
        total = sum(part["ms"] for part in lines.values()) + rest + left
        assert body["delta_ms"] == pytest.approx(total, abs=1e-6)
    assert body["delta_ms"] == pytest.approx(sum(body["golden_ms"].values()), abs=1e-6)


def test_matrix_of_a_fleet(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    """Three metrics are asked, each column adds up to its own change."""
    asked("packet-loss", "--view", "matrix", "--json")
    matrix = json.loads(capsys.readouterr().out)["matrix"]

    assert ["ttft", "tpot", "tbt"] == list(matrix)
    for column in matrix.values():
        total = sum(line["ms"] for line in column["lines"].values())
        assert column["delta_ms"] is None or column["delta_ms"] == pytest.approx(total, abs=1e-6)
