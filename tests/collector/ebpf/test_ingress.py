"""Arrival-to-read delay against a real server, and the classifier's end however its owner ends."""

import ctypes
import platform
import shutil
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from otel_attrib.collector.agent.processes import EngineProcesses
from otel_attrib.collector.agent.source import Unavailable
from otel_attrib.collector.sources.ebpf.ingress import Ingress
from otel_attrib.collector.sources.ebpf.interfaces import addressed_interfaces

SERVER = Path(__file__).parents[2] / "native/tcp/server.py"
OWNER = """
import sys, time, socket
from otel_attrib.collector.sources.ebpf.clsact import ClsactFilter
from otel_attrib.collector.sources.ebpf.ingress import TOOL
from otel_attrib.collector.sources.ebpf.loader import load
from otel_attrib.collector.sources.ebpf.socket_layout import socket_layout
from otel_attrib.collector.sources.ebpf.tcx import attach_ingress
from otel_attrib.collector.sources.ebpf.watched_flows import DEFINES
classifier = load(TOOL, {**DEFINES, **socket_layout(TOOL)}).functions["classify"]
link = attach_ingress(socket.if_nametoindex(sys.argv[1]), classifier)
filters = [ClsactFilter(name, classifier) for name in sys.argv[2:]]
print("ready", flush=True)
time.sleep(60)
"""

TO = ("127.0.0.1", "::1")

Serve = Callable[..., tuple["subprocess.Popen[str]", int]]


@pytest.fixture(scope="module")
def tool(kernel: None) -> Iterator[tuple[EngineProcesses, Ingress]]:
    """The source at the loopback; 127.0.0.2 is a tenant, ::1 another."""
    finder = EngineProcesses(pids=[], every_s=0.0, only=True)
    try:
        source = Ingress(finder, tenants={"127.0.0.2": "blue", "::/64": "six"}, interfaces=["lo"], look_s=0.0)
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


@dataclass
class Sent:
    """Monotonic nanoseconds before every part was sent, and the client's wait for a processor then."""

    at: list[int] = field(default_factory=list)
    waited: int = 0

    def hold(self, told: float, reads: list[int], parts: int = 1) -> bool:
        """Return whether this time is that from sending to reading within 5 %, `parts` to a read."""
        took = parts * sum(reads) - sum(self.at)
        return (took - self.waited) / 1e9 <= 1.05 * told and told <= 1.05 * took / 1e9


def run_queue_wait() -> int:
    """Nanoseconds for which this thread has been runnable and had no processor."""
    return int(Path("/proc/thread-self/schedstat").read_text().split()[1])


def send(port: int, parts: list[bytes], times: int, source: str = "127.0.0.1") -> Sent:
    """Send requests in parts, 5 ms apart, each answered before the next."""
    sent = Sent()
    with socket.create_connection((TO[":" in source], port), source_address=(source, 0)) as there:
        there.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(times):
            for part in parts:
                time.sleep(0.005)
                before = run_queue_wait()
                sent.at.append(time.monotonic_ns())
                there.sendall(part)
                sent.waited += run_queue_wait() - before
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
        if series.counter.key == key and (about := dict(series.attributes)).get("server.port") == str(port)
    }


def measured(
    tool: tuple[EngineProcesses, Ingress], serve: Serve, lag_s: float, sends: Callable[[int], Sent]
) -> tuple[Sent, "subprocess.Popen[str]", int]:
    """Send to a new server that is watched: the send times, the server, its port."""
    finder, source = tool
    process, port = serve(0.0, lag_s, 10)
    finder.watch([process.pid], only=True)
    list(source.read())
    return sends(port), process, port


def test_delay_of_single_packets(tool: tuple[EngineProcesses, Ingress], serve: Serve) -> None:
    """A server that reads 30 ms late has each packet wait that long, as sender's and server's clocks say."""
    sent, process, port = measured(tool, serve, 0.03, lambda port: send(port, [b"request\n"], 13))

    assert {"": 13.0} == readings(tool[1], "flow_packets", port)
    told = readings(tool[1], "flow_delay_time", port)[""]
    assert sent.hold(told, reads(process, 13)), (sent, told)
    assert 13 * 0.03 <= told


def test_a_read_takes_all_that_came_before(tool: tuple[EngineProcesses, Ingress], serve: Serve) -> None:
    """Three packets that one read takes have waited each since its own arrival."""
    parts = [b"a", b"b", b"c\n"]
    sent, process, port = measured(tool, serve, 0.05, lambda port: send(port, parts, 7, "127.0.0.2"))

    assert {"blue": 21.0} == readings(tool[1], "flow_packets", port)
    told = readings(tool[1], "flow_delay_time", port)["blue"]
    assert sent.hold(told, reads(process, 7), 3), (sent, told)


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="no IPv6 here")
def test_ipv6(tool: tuple[EngineProcesses, Ingress], serve: Serve) -> None:
    """Packets over IPv6 count as those over IPv4."""
    _, _, port = measured(tool, serve, 0.0, lambda port: send(port, [b"request\n"], 5, "::1"))

    assert {"six": 5.0} == readings(tool[1], "flow_packets", port)


def classifiers(interface: str) -> int:
    """How many classifiers the kernel has at the entry of an interface by links (BPF_PROG_QUERY)."""
    number = {"x86_64": 321, "aarch64": 280}[platform.machine()]
    packed = struct.pack("=IIIIQI36x", socket.if_nametoindex(interface), 46, 0, 0, 0, 0)
    asked = ctypes.create_string_buffer(packed)
    failed = ctypes.CDLL(None, use_errno=True).syscall(number, 16, ctypes.byref(asked), len(asked) - 1)
    assert not failed, ctypes.get_errno()
    return int(struct.unpack_from("=I", asked.raw, 24)[0])


def filters(interface: str) -> str:
    """What tc has at an interface: its clsact qdisc and the filters at its entry."""
    words = ""
    for what in (("qdisc", "show", "dev", interface), ("filter", "show", "dev", interface, "ingress")):
        words += subprocess.run(["tc", *what], capture_output=True, text=True).stdout
    return " ".join(line for line in words.splitlines() if "clsact" in line or "bpf" in line)


@dataclass
class Killed:
    """What was at each interface before, while and after somebody who was killed had classifiers there."""

    before: list[tuple[int, str]]
    during: list[tuple[int, str]]
    after: list[tuple[int, str]]


@pytest.fixture(scope="module")
def killed(tool: tuple[EngineProcesses, Ingress]) -> Iterator[Killed]:
    """Kill an owner of a link at one interface and of filters at two, of which one has a qdisc of others."""
    if [int(part) for part in platform.release().split(".")[:2]] < [6, 6]:
        pytest.skip("the kernel has no links of traffic control (Linux 6.6)")
    for program in ("ip", "tc"):
        if not shutil.which(program):
            pytest.skip(f"{program} is missing")
    link, plain, shared = names = ("oatest0", "oatest1", "oatest2")
    for one, other in ((link, plain), (shared, "oatest3")):
        pair = ["ip", "link", "add", one, "type", "veth", "peer", "name", other]
        made = subprocess.run(pair, capture_output=True, text=True)
        if made.returncode:
            pytest.skip(f"no interface can be made: {made.stderr.strip()}")
    try:
        subprocess.run(["tc", "qdisc", "add", "dev", shared, "clsact"], check=True)
        yield kill_owner(names)
    finally:
        for one in (link, shared):
            subprocess.run(["ip", "link", "delete", one], check=True)


def kill_owner(names: Sequence[str]) -> Killed:
    """Start it, kill it, and wait until what it had is gone, for 5 s at most."""

    def there() -> list[tuple[int, str]]:
        return [(classifiers(name), filters(name)) for name in names]

    before = there()
    command = [sys.executable, "-c", OWNER, *names]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as owner:
        assert owner.stdout and owner.stderr
        if owner.stdout.readline() != "ready\n":
            pytest.fail(owner.stderr.read()[-600:])
        during = there()
        owner.kill()
    until = time.monotonic() + 5.0
    while there() != before and time.monotonic() < until:
        time.sleep(0.05)
    return Killed(before, during, there())


def test_a_killed_owner_leaves_no_link(killed: Killed) -> None:
    """The kernel takes the classifier away with the process that put it there; no qdisc is ever made."""
    assert ((0, ""), (1, ""), (0, "")) == (killed.before[0], killed.during[0], killed.after[0])


def test_a_killed_owner_leaves_no_filter(killed: Killed) -> None:
    """On kernels without links the guard removes filter and qdisc after its owner was killed."""
    assert "" == killed.before[1][1] == killed.after[1][1]
    assert "clsact" in killed.during[1][1] and "otel_attrib direct-action" in killed.during[1][1]


def test_a_qdisc_of_others_stays(killed: Killed) -> None:
    """A clsact qdisc that was there before is left as it was."""
    assert killed.before[2] == killed.after[2] != killed.during[2]
    assert "clsact" in killed.after[2][1]


def test_the_loopback_has_an_address() -> None:
    """Interfaces with an address are found; one that does not exist is not."""
    found = addressed_interfaces()

    assert "lo" in found
    assert set(found) <= {name for _, name in socket.if_nameindex()}
