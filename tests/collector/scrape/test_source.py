"""The source: which pages it reads, what it says of one that is down, and who wins where two read a card."""

import json
import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from otel_attrib.collector.agent.engine_roles import Role
from otel_attrib.collector.agent.processes import EngineProcess, EngineProcesses
from otel_attrib.collector.agent.readings import Layout
from otel_attrib.collector.agent.source import Reading, series
from otel_attrib.collector.sources.claims import Claims, claimed
from otel_attrib.collector.sources.scrape.endpoint import Endpoint
from otel_attrib.collector.sources.scrape.endpoints import Endpoints
from otel_attrib.collector.sources.scrape.source import LOOK_S, Scrape
from otel_attrib.collector.sources.scrape.target import Target, target
from otel_attrib.errors import UsageError

from .conftest import Server, page, plain

NOBODY = EngineProcesses(pids=[], only=True)


class Time:
    """A steady clock that a test moves."""

    def __init__(self) -> None:
        """Begin at nought."""
        self.now = 0.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now


def values(readings: list[Reading]) -> dict[str, float]:
    """Key → value."""
    return {one.counter.key: value for one, value in readings}


def pages(root: Path, *texts: str) -> Endpoints:
    """These pages on a machine without devices and engines."""
    endpoints = Endpoints(NOBODY, root)
    endpoints.give(texts)
    return endpoints


@pytest.mark.parametrize(
    ("text", "where", "kind"),
    [
        ("http://127.0.0.1:9400/metrics", "http://127.0.0.1:9400/metrics", ""),
        ("http://127.0.0.1:9400", "http://127.0.0.1:9400/metrics", ""),
        ("node3:9400=dcgm", "http://node3:9400/metrics", "dcgm"),
        ("https://[::1]:8443/m/x?a=b=tgi", "https://[::1]:8443/m/x", "tgi"),
        ("https://node/own?x=y", "https://node:443/own", ""),
    ],
)
def test_an_address_as_people_write_it(text: str, where: str, kind: str) -> None:
    """Scheme, port and path have their usual values; the kind stands behind the last equals sign."""
    assert (where, kind) == (target(text).where, target(text).kind)


@pytest.mark.parametrize("text", ["ftp://a/b", "http://", "http://a:port", "http://a:99999", ""])
def test_what_is_no_address_is_refused(text: str) -> None:
    """One clear line."""
    with pytest.raises(UsageError, match="^--scrape: "):
        target(text)


def test_a_page_is_read_and_its_reading_described(server: Server, tmp_path: Path) -> None:
    """The engine's counters with the port, and how the reading went."""
    server.answer = plain(page("vllm"))
    source = Scrape(pages(tmp_path, server.url))
    found = list(source.read())
    source.close()

    assert 877 == values(found)["engine_output_tokens"]
    assert (1, 0) == (values(found)["scrape_success"], values(found)["scrape_late"])
    assert {str(server.port)} == {dict(one.attributes)["server.port"] for one, _ in found}


def test_a_page_that_is_down_is_said_once_and_asked_ever_more_rarely(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Asked after 1, 2, 4 … 60 s; once it answers that is said, and so is the next fault."""
    caplog.set_level(logging.INFO)
    server.answer = plain("no", "text/html")
    clock = Time()
    endpoint = Endpoint(target(server.url), "", clock)
    asked = []
    for second in range(300):
        clock.now = float(second)
        before = len(server.requests)
        assert {"scrape_success": 0.0} == values(endpoint.read())
        asked += [second] * (len(server.requests) - before)

    assert [0, 1, 3, 7, 15, 31, 63, 123, 183, 243] == asked
    assert [f"{server.url}: answers with a web page, not with metrics; asked again, ever more rarely"] == [
        record.getMessage() for record in caplog.records
    ]
    server.answer = plain(page("tgi"))
    clock.now = 303.0
    assert 8123 == values(endpoint.read())["engine_output_tokens"]
    assert f"{server.url} answers" == caplog.records[-1].getMessage()
    assert 8123 == values(endpoint.read())["engine_output_tokens"]
    endpoint.close()


def test_a_page_of_something_else_is_said(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    """Metrics of a database are of no kind that is known; a kind that was named is believed."""
    server.answer = plain("pg_up 1\n")
    endpoint = Endpoint(target(server.url))

    assert {"scrape_success": 0.0} == values(endpoint.read())
    assert "its metrics are of none of dcgm, amd" in caplog.text
    endpoint.close()
    named = Endpoint(target(f"{server.url}=dcgm"))
    assert {"scrape_success": 1.0, "scrape_unknown": 1.0, "scrape_late": 0.0} == values(named.read())
    named.close()


def test_a_token_goes_to_pages_that_were_given_alone(server: Server) -> None:
    """What was found on the machine gets none."""
    server.answer = plain(page("tgi"))
    for given in (True, False):
        to = Target(False, "127.0.0.1", server.port, "/metrics", given=given)
        endpoint = Endpoint(to, "s3cret")
        endpoint.read()
        endpoint.close()

    assert ["Bearer s3cret", None] == [each.get("Authorization") for each in server.requests]


def test_exporters_are_asked_where_their_devices_are(tmp_path: Path) -> None:
    """On a machine with NVIDIA's device file the usual port of DCGM, on one with AMD's that of AMD."""
    for name in ("nvidiactl", "kfd"):
        (tmp_path / name / "dev").mkdir(parents=True)
        (tmp_path / name / "dev" / name).touch()

    def found(root: Path) -> list[str]:
        return [f"{each.where}={each.kind}" for each in Endpoints(NOBODY, root).current()]

    assert ["http://127.0.0.1:9400/metrics=dcgm"] == found(tmp_path / "nvidiactl")
    assert ["http://127.0.0.1:5000/metrics=amd"] == found(tmp_path / "kfd")
    assert [] == found(tmp_path)


def test_pages_come_and_go(server: Server, tmp_path: Path) -> None:
    """A page that is there later is read within ten seconds, one that is gone no longer."""
    server.answer = plain(page("tgi"))
    clock, endpoints = Time(), pages(tmp_path)
    source = Scrape(endpoints, clock)
    assert [] == list(source.read())
    endpoints.give([server.url])
    clock.now = LOOK_S - 1
    assert [] == list(source.read())
    clock.now = LOOK_S
    assert 8123 == values(list(source.read()))["engine_output_tokens"]
    endpoints.give([])
    clock.now = 2 * LOOK_S
    assert [] == list(source.read())
    source.close()


def test_an_address_is_read_once(server: Server, tmp_path: Path) -> None:
    """Given twice, by name and by number, it is one page."""
    found = pages(tmp_path, server.url, f"localhost:{server.port}", server.url).current()

    assert [server.url] == [each.where for each in found]


def test_nvml_wins_over_an_exporter_and_that_is_said_once(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """While NVML gives a card's counters the exporter's are left out; what NVML lacks is kept."""
    caplog.set_level(logging.INFO)
    server.answer = plain(page("dcgm"))
    endpoint = Endpoint(target(server.url))
    claims = Claims()
    claims.given(Layout((series("gpu_clock", "0"), series("gpu_power", "0"))))
    try:
        during = [values(endpoint.read()) for _ in range(3)][-1]
    finally:
        claims.release()
    after = values(endpoint.read())
    endpoint.close()

    assert {"gpu_clock", "gpu_power"} == after.keys() - during.keys()
    assert "sm_activity" in during
    assert not claimed("gpu_clock")
    assert 1 == sum("4 readings of its cards" in record.getMessage() for record in caplog.records)


class Found(EngineProcesses):
    """One process, with the role that a test gives it."""

    def __init__(self, pid: int, role: Role) -> None:
        """Know it."""
        super().__init__(pids=[pid], only=True)
        self.found = EngineProcess(pid, role, "", 0, "vllm serve")

    def current(self) -> tuple[EngineProcess, ...]:
        """It alone."""
        return (self.found,)


def test_an_engine_is_found_by_the_port_that_it_chose(tmp_path: Path) -> None:
    """A port of the API server is read; one that the kernel gave it is between processes and is not."""
    code = (
        "import socket, sys; s = socket.create_server(('127.0.0.1', int(sys.argv[2] if sys.argv[2:] else 0)))"
    )
    code += "; print(s.getsockname()[1], flush=True); sys.stdin.read()"

    def found(words: list[str], role: Role) -> tuple[int, list[int]]:
        command = [sys.executable, "-c", code, *words]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            port = int(child.stdout.readline())
            pages = Endpoints(Found(child.pid, role), tmp_path).current()
            assert child.stdin is not None
            child.stdin.close()
        return port, [each.port for each in pages]

    given, none = found([], "api_server")
    low, high = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    assert low <= given <= high
    assert [] == none
    chosen = ["--port", str(given)]
    assert (given, [given]) == found(chosen, "api_server")
    assert (given, []) == found(chosen, "worker")


@pytest.mark.parametrize("as_json", [False, True])
def test_once_shows_what_a_page_says(
    server: Server, as_json: bool, run_cli: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    """`agent --once --scrape` prints the counters of the page, and why another has none."""
    server.answer = plain(page("vllm"))
    done = run_cli(
        "agent", "--once", "--sources", "scrape", "--scrape", server.url, "--scrape", "127.0.0.1:1",
        *(["--json"] if as_json else []),
    )  # fmt: skip

    assert 0 == done.returncode
    assert "http://127.0.0.1:1/metrics: Connection refused" in done.stderr
    if as_json:
        (source,) = json.loads(done.stdout)["sources"]
        mine = [each for each in source["readings"] if each["attributes"]["server.port"] == str(server.port)]
        told = {each["key"]: each for each in mine}
        assert len(mine) == len(told)
        assert 877 == told["engine_output_tokens"]["value"]
        assert "0" == told["engine_output_tokens"]["attributes"]["slatag.replica"]
    else:
        assert f"engine_output_tokens     tiny {server.port} 0" in done.stdout


def test_scrape_without_its_source_is_a_contradiction(
    run_cli: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    """`--scrape` with `--sources` that leave it out ends with one line and code 2."""
    done = run_cli("agent", "--once", "--sources", "cpu", "--scrape", "127.0.0.1:1")

    assert 2 == done.returncode
    assert "which --sources leaves out" in done.stderr
