"""TCP tool against a real server on loopback: answers counted exactly, times as the client's, loss as the
kernel's.
"""

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from otel_attrib.collector.agent.processes import EngineProcesses
from otel_attrib.collector.agent.source import Unavailable
from otel_attrib.collector.sources.ebpf.tcp import Tcp

SERVER = Path(__file__).parents[2] / "native/tcp/server.py"
CLIENT = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as there:
    for _ in range(int(sys.argv[2])):
        there.sendall(b"request\\n")
        got = 0
        while got < 4 + int(sys.argv[3]):
            got += len(there.recv(1 << 20))
"""

TO = ("127.0.0.1", "::1")


@pytest.fixture(scope="module")
def tool(kernel: None) -> Iterator[tuple[EngineProcesses, Tcp]]:
    """The source; 127.0.0.2 and its neighbour are a tenant, 127.0.0.3 another within, ::1 a third."""
    finder = EngineProcesses(pids=[], every_s=0.0, only=True)
    try:
        source = Tcp(finder, tenants={"127.0.0.2/31": "blue", "127.0.0.3": "green", "::1": "six"}, look_s=0.0)
    except Unavailable as lack:
        pytest.skip(str(lack))
    yield finder, source
    source.close()


Serve = Callable[..., tuple["subprocess.Popen[str]", int]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start the server: `serve(think_s, lag_s, bytes, within=[…])`; its process and port."""
    running: list[subprocess.Popen[str]] = []

    def begin(*words: float, within: tuple[str, ...] = ()) -> tuple["subprocess.Popen[str]", int]:
        command = [*within, sys.executable, str(SERVER), *map(str, words)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout
        return process, int(process.stdout.readline().split()[1])

    yield begin
    for process in running:
        process.kill()
        process.communicate()


@dataclass
class Took:
    """Seconds from the last part of each request to the first byte of its answer, by the client's clock.

    `waited` is how much of that the client itself may have waited for a processor (schedstat): the answer was
    there, or the request was not yet sent.
    """

    seconds: float = 0.0
    waited: float = 0.0

    def holds(self, told: float) -> bool:
        """Return whether this time, of the same requests, is the client's own within 5 %."""
        return self.seconds - self.waited <= 1.05 * told and told <= 1.05 * self.seconds


def run_queue_wait() -> float:
    """Seconds for which this thread has been runnable and had no processor."""
    return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9


def ask(port: int, parts: list[bytes], times: int, source: str = "127.0.0.1") -> Took:
    """Send requests in parts, 20 ms apart."""
    took = Took()
    with socket.create_connection((TO[":" in source], port), source_address=(source, 0)) as there:
        there.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(times):
            for part in parts:
                time.sleep(0.02 * (part is not parts[0]))
                waited, sent = run_queue_wait(), time.perf_counter()
                there.sendall(part)
            got = len(there.recv(1 << 20))
            took.seconds += time.perf_counter() - sent
            took.waited += run_queue_wait() - waited
            while got < 1004:
                got += len(there.recv(1 << 20))
    return took


def readings(source: Tcp, key: str, port: int) -> dict[str, float]:
    """Tenant ("" for nobody's) → reading, of one counter and port."""
    return {
        about.get("slatag.flow", ""): value
        for series, value in source.read()
        if series.counter.key == key and (about := dict(series.attributes)).get("server.port") == str(port)
    }


def measured(
    tool: tuple[EngineProcesses, Tcp],
    serve: Serve,
    words: tuple[float, ...],
    asks: Callable[[int], Took],
) -> tuple[Took, int]:
    """Ask a new server that is watched: the client's times, and the port."""
    finder, source = tool
    process, port = serve(*words)
    finder.watch([process.pid], only=True)
    list(source.read())
    return asks(port), port


def test_first_byte_as_the_client_sees_it(tool: tuple[EngineProcesses, Tcp], serve: Serve) -> None:
    """Every answer of a connection is counted once; the time is the client's own within 5 %."""
    took, port = measured(tool, serve, (0.05, 0.0, 1000), lambda port: ask(port, [b"request\n"], 13))

    assert {"": 13.0} == readings(tool[1], "tcp_first_bytes", port)
    told = readings(tool[1], "tcp_first_byte_time", port)[""]
    assert took.holds(told), (took, told)
    assert 13 * 0.05 <= told


def test_counts_from_the_last_packet(tool: tuple[EngineProcesses, Tcp], serve: Serve) -> None:
    """The time runs from the last part of a request, and a server that reads late is late all the same."""
    parts = [b"req", b"ue", b"st\n"]
    took, port = measured(tool, serve, (0.02, 0.03, 1000), lambda port: ask(port, parts, 7))

    assert {"": 7.0} == readings(tool[1], "tcp_first_bytes", port)
    told = readings(tool[1], "tcp_first_byte_time", port)[""]
    assert took.holds(told), (took, told)


def test_tenants(tool: tuple[EngineProcesses, Tcp], serve: Serve) -> None:
    """The narrowest network that holds an address names the tenant; other addresses are nobody's."""
    finder, source = tool
    process, port = serve(0.001, 0.0, 1000)
    finder.watch([process.pid], only=True)
    list(source.read())

    for address, times in (("127.0.0.1", 3), ("127.0.0.2", 5), ("127.0.0.3", 7)):
        ask(port, [b"request\n"], times, address)

    assert {"": 3.0, "blue": 5.0, "green": 7.0} == readings(tool[1], "tcp_first_bytes", port)


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="no IPv6 here")
def test_ipv6(tool: tuple[EngineProcesses, Tcp], serve: Serve) -> None:
    """Connections over IPv6 count as those over IPv4."""
    _, port = measured(tool, serve, (0.001, 0.0, 1000), lambda port: ask(port, [b"request\n"], 5, "::1"))

    assert {"six": 5.0} == readings(tool[1], "tcp_first_bytes", port)


def test_others_do_not_count(tool: tuple[EngineProcesses, Tcp], serve: Serve) -> None:
    """A server that is no engine is not seen."""
    finder, source = tool
    _, port = serve(0.001, 0.0, 1000)
    finder.watch([], only=True)
    list(source.read())

    ask(port, [b"request\n"], 3)

    assert {} == readings(source, "tcp_first_bytes", port)


@pytest.fixture
def namespace() -> Iterator[tuple[str, ...]]:
    """A network namespace whose loopback loses every 11th large packet; the command that runs within it."""
    for program in ("ip", "nft", "nstat", "ss"):
        if not shutil.which(program):
            pytest.skip(f"{program} is missing")
    name = "otel_attrib_test"
    within = ("ip", "netns", "exec", name)
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"no network namespaces: {made.stderr.strip()}")
    try:
        # One segment a packet: a packet of several that is sent again is one event and several segments.
        link = ("ip", "link", "set", "lo", "mtu", "1500", "gso_max_segs", "1", "up")
        subprocess.run([*within, *link], check=True)
        rules = (
            "add table inet loss",
            "add chain inet loss in { type filter hook input priority 0; }",
            "add rule inet loss in ip length > 500 numgen inc mod 11 == 0 drop",
        )
        for rule in rules:
            subprocess.run([*within, "nft", rule], check=True)
        yield within
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)


def test_retransmits_are_the_kernels_own(
    tool: tuple[EngineProcesses, Tcp], serve: Serve, namespace: tuple[str, ...]
) -> None:
    """What is sent again under real loss is as much as the socket's `tcp_info` and nstat say."""
    finder, source = tool
    process, port = serve(0.0, 0.0, 200_000, within=namespace)
    finder.watch([process.pid], only=True)
    list(source.read())

    subprocess.run(
        [*namespace, sys.executable, "-c", CLIENT, str(port), "5", "200000"], check=True, timeout=60
    )

    assert process.stdout
    lines = iter(process.stdout.readline, "")
    resent = next(int(line.split()[1]) for line in lines if line.startswith("resent"))
    counted = subprocess.run(
        [*namespace, "nstat", "-asz", "--json", "TcpRetransSegs"], check=True, capture_output=True, text=True
    )
    assert {"": float(resent)} == readings(source, "flow_retransmits", port)
    assert resent == json.loads(counted.stdout)["kernel"]["TcpRetransSegs"] > 0
