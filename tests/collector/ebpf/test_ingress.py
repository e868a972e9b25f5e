"""Arrival-to-read delay against a real server, and the classifier's end however its owner ends."""

import ctypes
import platform
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from otel_attrib.collector.agent.processes import EngineProcesses
from otel_attrib.collector.agent.source import Unavailable
from otel_attrib.collector.sources.ebpf.ingress import Ingress
from otel_attrib.collector.sources.ebpf.interfaces import addressed_interfaces

SERVER = Path(__file__).parents[2] / "native/tcp/server.py"
HOLDER = """
import sys, time
from otel_attrib.collector.agent.processes import EngineProcesses
from otel_attrib.collector.sources.ebpf.ingress import Ingress
source = Ingress(EngineProcesses(pids=[], only=True), interfaces=[sys.argv[1]], links=sys.argv[2] == "links")
print("ready", flush=True)
time.sleep(60)
"""

Serve = Callable[..., tuple["subprocess.Popen[str]", int]]


@pytest.fixture(scope="module")
def tool(kernel: None) -> Iterator[tuple[EngineProcesses, Ingress]]:
    """The source at the loopback; 127.0.0.2 is a tenant."""
    finder = EngineProcesses(pids=[], every_s=0.0, only=True)
    try:
        source = Ingress(finder, tenants={"127.0.0.2": "blue"}, interfaces=["lo"], look_s=0.0)
    except Unavailable as lack:
        pytest.skip(str(lack))
    yield finder, source
    source.close()


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start the server: `serve(think_s, lag_s, bytes)`; its process and port."""
    running: list[subprocess.Popen[str]] = []

    def begin(*words: float) -> tuple["subprocess.Popen[str]", int]:
        command = [sys.executable, str(SERVER), *map(str, words)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout
        return process, int(process.stdout.readline().split()[1])

    yield begin
    for process in running:
        process.kill()
        process.communicate()


def send(port: int, parts: list[bytes], times: int, source: str = "127.0.0.1") -> list[int]:
    """Send requests in parts, 5 ms apart, each answered before the next; the monotonic time of every part."""
    sent = []
    with socket.create_connection(("127.0.0.1", port), source_address=(source, 0)) as there:
        there.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(times):
            for part in parts:
                time.sleep(0.005)
                sent.append(time.monotonic_ns())
                there.sendall(part)
            got = 0
            while got < 14:
                got += len(there.recv(1 << 16))
    return sent


def reads(process: "subprocess.Popen[str]", count: int) -> list[int]:
    """CLOCK_MONOTONIC of the server's next reads, as it says itself."""
    assert process.stdout
    found: list[int] = []
    while len(found) < count:
        word, value = process.stdout.readline().split()
        if word == "read":
            found.append(int(value))
    return found


def readings(source: Ingress, key: str, port: int) -> dict[str, float]:
    """Tenant ("" for nobody's) → reading, of one counter and port."""
    return {
        about.get("slatag.flow", ""): value
        for series, value in source.read()
        if series.counter.key == key and (about := dict(series.attributes))["server.port"] == str(port)
    }


def test_delay_of_single_packets(tool: tuple[EngineProcesses, Ingress], serve: Serve) -> None:
    """A server that reads 30 ms late has each packet wait that long, as sender's and server's clocks say."""
    finder, source = tool
    process, port = serve(0.0, 0.03, 10)
    finder.watch([process.pid], only=True)
    list(source.read())

    sent = send(port, [b"request\n"], 13)

    assert {"": 13.0} == readings(source, "flow_packets", port)
    told = readings(source, "flow_delay_time", port)[""]
    waited = (sum(reads(process, 13)) - sum(sent)) / 1e9
    assert waited == pytest.approx(told, rel=0.05)
    assert 13 * 0.03 <= told


def test_a_read_takes_all_that_came_before(tool: tuple[EngineProcesses, Ingress], serve: Serve) -> None:
    """Three packets that one read takes have waited each since its own arrival."""
    finder, source = tool
    process, port = serve(0.0, 0.05, 10)
    finder.watch([process.pid], only=True)
    list(source.read())

    sent = send(port, [b"a", b"b", b"c\n"], 7, "127.0.0.2")

    assert {"blue": 21.0} == readings(source, "flow_packets", port)
    told = readings(source, "flow_delay_time", port)["blue"]
    waited = (3 * sum(reads(process, 7)) - sum(sent)) / 1e9
    assert waited == pytest.approx(told, rel=0.05)


@pytest.fixture
def interface(kernel: None) -> Iterator[str]:
    """An interface of the test's own."""
    if not shutil.which("ip"):
        pytest.skip("ip is missing")
    name = "oatest0"
    made = subprocess.run(
        ["ip", "link", "add", name, "type", "veth", "peer", "name", "oatest1"], capture_output=True, text=True
    )
    if made.returncode:
        pytest.skip(f"no interface can be made: {made.stderr.strip()}")
    yield name
    subprocess.run(["ip", "link", "delete", name], check=True)


def classifiers(interface: str) -> int:
    """How many classifiers the kernel has at the entry of an interface by links (BPF_PROG_QUERY)."""
    number = {"x86_64": 321, "aarch64": 280}[platform.machine()]
    asked = ctypes.create_string_buffer(
        struct.pack("=IIIIQI36x", socket.if_nametoindex(interface), 46, 0, 0, 0, 0)
    )
    failed = ctypes.CDLL(None, use_errno=True).syscall(number, 16, ctypes.byref(asked), len(asked) - 1)
    assert not failed, ctypes.get_errno()
    return int(struct.unpack_from("=I", asked.raw, 24)[0])


def filters(interface: str) -> str:
    """What tc has at an interface: its clsact qdisc and the filters at its entry."""
    words = ""
    for what in (("qdisc", "show", "dev", interface), ("filter", "show", "dev", interface, "ingress")):
        words += subprocess.run(["tc", *what], capture_output=True, text=True).stdout
    return " ".join(line for line in words.splitlines() if "clsact" in line or "bpf" in line)


def hold(interface: str, how: str) -> "subprocess.Popen[str]":
    """A program with the source at this interface, which does not end by itself."""
    command = [sys.executable, "-c", HOLDER, interface, how]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert holder.stdout and holder.stderr
    if holder.stdout.readline() != "ready\n":
        pytest.skip(holder.stderr.read()[-300:])
    return holder


def test_a_killed_owner_leaves_no_link(interface: str) -> None:
    """The kernel takes the classifier away with the process that put it there."""
    holder = hold(interface, "links")
    assert 1 == classifiers(interface)

    holder.send_signal(signal.SIGKILL)
    holder.communicate()

    # Freed by the kernel a moment later.
    for _ in range(100):
        if not classifiers(interface):
            break
        time.sleep(0.02)
    assert (0, "") == (classifiers(interface), filters(interface))


def test_a_killed_owner_leaves_no_filter(interface: str) -> None:
    """On kernels without links the guard removes filter and qdisc after its owner was killed."""
    if not shutil.which("tc"):
        pytest.skip("tc is missing")
    holder = hold(interface, "tc")
    assert "bpf" in filters(interface)

    holder.send_signal(signal.SIGKILL)
    holder.communicate()

    for _ in range(100):
        if not filters(interface):
            break
        time.sleep(0.05)
    assert "" == filters(interface)


def test_a_qdisc_of_others_stays(interface: str) -> None:
    """A clsact qdisc that was there before, and its filters, are left as they were."""
    if not shutil.which("tc"):
        pytest.skip("tc is missing")
    subprocess.run(["tc", "qdisc", "add", "dev", interface, "clsact"], check=True)
    before = filters(interface)
    holder = hold(interface, "tc")

    holder.send_signal(signal.SIGKILL)
    holder.communicate()

    for _ in range(100):
        if filters(interface) == before:
            break
        time.sleep(0.05)
    assert before == filters(interface) != ""


def test_the_loopback_has_an_address() -> None:
    """Interfaces with an address are found; one that does not exist is not."""
    found = addressed_interfaces()

    assert "lo" in found
    assert set(found) <= {name for _, name in socket.if_nameindex()}
