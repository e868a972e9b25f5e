"""Real torch: two ranks over gloo, and a vLLM of two ranks, beside clocks that are not ours.

The programs run in the environment with vLLM (`make vllm`), which has torch; this one has none.
"""

import asyncio
import gzip
import json
import os
import subprocess
import sys
import time
import urllib.request
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

PROGRAMS = Path(__file__).with_name("torch_programs")
SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture(scope="module")
def programs() -> Path:
    """The programs of the environment with torch and vLLM; `make test` sets it up."""
    asked_for = os.environ.get("OTEL_ATTRIB_TEST_VLLM") == "1"
    check = [] if asked_for else ["--check"]
    done = subprocess.run(["bash", str(INSTALLER), *check], capture_output=True, text=True)
    if done.returncode == CANNOT_RUN_HERE:
        pytest.skip(done.stderr.strip())
    if done.returncode and not asked_for:
        pytest.skip("torch is not set up: `make vllm` does it")
    assert done.returncode == 0, done.stderr
    return folder() / "bin"


@pytest.fixture(scope="module")
def ranks(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What two ranks over gloo say of themselves."""
    store = tmp_path_factory.mktemp("ranks") / "store"
    env = server_environment() | {"PYTHONPATH": str(SOURCE), "PYTHONWARNINGS": "ignore"}
    command = [programs / "python", PROGRAMS / "two_ranks.py", store]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    told: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return told


def test_the_host_is_unharmed(ranks: list[dict[str, Any]]) -> None:
    """Sums over ranks are right, no failure of ours happened, and the functions come back as they were."""
    assert [{"sums_right": True, "wrapped": True, "restored": True, "faults": {}} for _ in range(2)] == [
        {key: rank[key] for key in ("sums_right", "wrapped", "restored", "faults")} for rank in ranks
    ]


def test_like_a_stopwatch_beside_each_call(ranks: list[dict[str, Any]]) -> None:
    """Our time in collectives is the caller's own measurement to 3 %, never more; their bytes are exact."""
    rounds, elements, size = 40, 1 << 18, 4
    for rank in ranks:
        for half in (rank["even"], rank["late"]):
            assert 0.97 * half["own_ns"] <= half["ours_ns"] <= half["own_ns"]
            assert half["ours_ns"] <= half["forward_ns"]
            assert rounds * size * (elements + 2 * elements + elements // 2) == half["bytes"]


def test_at_least_what_the_profiler_saw(ranks: list[dict[str, Any]]) -> None:
    """gloo's own work, as torch.profiler times it, is inside what the caller waited for."""
    for rank in ranks:
        assert 0 < rank["profiled"]["profiler_ns"] <= rank["profiled"]["ours_ns"]


def test_a_late_rank_is_waited_for_by_the_other(ranks: list[dict[str, Any]]) -> None:
    """Of two ranks the one that comes late to each step waits less: its delay is the other's collective."""
    punctual, late = (rank["late"]["ours_ns"] for rank in ranks)

    assert punctual - late >= 0.5 * 40 * 4_000_000


def test_shares_of_a_window(ranks: list[dict[str, Any]]) -> None:
    """A rank that sleeps is idle for that share of the window, and its shares add up to 1."""
    for rank in ranks:
        shares = rank["window"]["shares"]

        assert 1.0 == pytest.approx(sum(shares.values()))
        assert shares["idle"] == pytest.approx(rank["window"]["idle"], abs=0.1)
        assert shares["compute"] + shares["memory"] == pytest.approx(rank["window"]["busy"], abs=0.1)
        assert shares["collective"] > 0.0
        assert 0.0 == shares["copy"]


@dataclass(frozen=True)
class Served:
    """A vLLM of two ranks that has served, and what came of it."""

    service: Service
    traces: list[dict[str, Any]]
    profiled: tuple[float, float]

    def total(self, metric: str) -> dict[str, float]:
        """Return the last value of a total by rank."""
        rows = self.service.rows(
            "SELECT attributes['slatag.rank'] AS rank, max(value) AS value FROM samples "
            "WHERE metric = {metric:String} AND attributes['slatag.source'] = 'torch' GROUP BY rank",
            metric=metric,
        )
        return {row["rank"]: row["value"] for row in rows}


@pytest.fixture(scope="module")
def served(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve some requests with two ranks and our windows, then some under vLLM's own profiler."""
    base, port = tmp_path_factory.mktemp("served"), free_port()
    traces = base / "traces"
    config = json.dumps({"profiler": "torch", "torch_profiler_dir": str(traces)})
    with Service(base / "service") as service:
        env = server_environment() | {
            "OTEL_ATTRIB_OTLP_ENDPOINT": service.otlp_grpc,
            "OTEL_ATTRIB_TORCH_PROFILE_EVERY": "20",
            "OTEL_ATTRIB_TORCH_PROFILE_SHARE": "0.2",
        }
        run = (sys.executable, "-m", "otel_attrib", "run", "--")
        options = ("--tensor-parallel-size=2", f"--profiler-config={config}")
        with start_vllm(programs, ensure_model(), port, base / "log", env, before=run, after=options):
            asyncio.run(_ask(port, 60))
            time.sleep(2.5)
            asyncio.run(_ask(port, 60))
            _post(port, "/start_profile")
            begun = time.time()
            asyncio.run(_ask(port, 30))
            ended = time.time()
            _post(port, "/stop_profile")
            time.sleep(3.0)
            files = sorted(traces.glob("rank*.json.gz"))
            yield Served(service, [json.load(gzip.open(file)) for file in files], (begun, ended))


async def _ask(port: int, tokens: int) -> None:
    message = {"role": "user", "content": "import os"}
    body = {
        "model": MODEL_NAME,
        "stream": True,
        "max_tokens": tokens,
        "ignore_eos": True,
        "messages": [message],
    }
    headers = {"content-type": "application/json"}
    path = "/v1/chat/completions"
    await asyncio.gather(*(exchange(port, path, headers, json.dumps(body).encode()) for _ in range(2)))


def _post(port: int, path: str) -> None:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", b"", method="POST")
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=120):
        pass


def test_both_ranks_tell(served: Served) -> None:
    """Both ranks tell of the same bytes, and of a time that is not zero."""
    sizes, times = (served.total(f"slatag.engine.collective_{what}") for what in ("bytes", "time"))

    assert {"0", "1"} == set(sizes) == set(times)
    assert sizes["0"] == sizes["1"] > 0
    assert min(times.values()) > 0


def test_collectives_are_part_of_the_forward_pass(served: Served) -> None:
    """Each step's collectives took time, and no more than its forward pass; on a CPU nothing is copied."""
    (row,) = served.service.rows(
        "SELECT count() AS steps, countIf(collective_us > 0) AS some, "
        "countIf(collective_us > forward_us) AS more, countIf(copy_us IS NOT NULL) AS copies FROM steps"
    )

    assert row["steps"] >= 100
    assert (row["steps"], 0, 0) == (row["some"], row["more"], row["copies"])


def test_like_the_servers_own_profile(served: Served) -> None:
    """Over the profiled steps our sum holds what vLLM's trace of rank 0 says of collectives, and little more.

    A trace times the operator alone; ours is around the call, profiler's cost included.
    """
    (row,) = served.service.rows(
        "SELECT count() AS steps, sum(collective_us) AS us FROM steps WHERE time BETWEEN "
        "fromUnixTimestamp64Micro({a:Int64}) AND fromUnixTimestamp64Micro({b:Int64})",
        a=int(served.profiled[0] * 1e6),
        b=int(served.profiled[1] * 1e6),
    )
    collectives = [
        event
        for event in served.traces[0]["traceEvents"]
        if event.get("cat") == "cpu_op" and event["name"].startswith("_C::shm_")
    ]
    theirs = sum(event["dur"] for event in collectives)
    print(f"{row['steps']} steps, {len(collectives)} calls: ours {row['us']:.0f} µs, trace {theirs:.0f} µs")

    assert 0 == len(collectives) % row["steps"]
    assert theirs <= row["us"] <= 1.15 * theirs + 100 * len(collectives)


def test_windows_of_a_server(served: Served) -> None:
    """Windows were taken on both ranks, their shares add up to 1, and their cost is told."""
    rows = served.service.rows(
        "SELECT attributes['slatag.rank'] AS rank, time, sum(value) AS whole, count() AS activities "
        "FROM samples WHERE metric = 'slatag.profile.share' GROUP BY rank, time"
    )
    spent = served.total("slatag.profile.time")

    assert {"0", "1"} == {row["rank"] for row in rows} == set(spent)
    assert {5} == {row["activities"] for row in rows}
    assert all(1.0 == pytest.approx(row["whole"]) for row in rows)
    assert all(0.0 < seconds < 5.0 for seconds in spent.values())
