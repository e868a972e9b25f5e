"""The engine's own connections, found and followed."""

import logging
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.collector.agent.processes import EngineProcesses
from otel_attrib.collector.agent.source import Unavailable
from otel_attrib.collector.sources.network_namespaces import Namespace
from otel_attrib.collector.sources.socket_diag import LISTENING, TcpSocket
from otel_attrib.collector.sources.socket_owners import SocketOwners
from otel_attrib.collector.sources.tcp_connections import TcpConnections

SERVER = TcpSocket(b"s", LISTENING, "0.0.0.0", 8000, "0.0.0.0", 0, 11, 1000, 0, 0, False)
MINE = TcpSocket(b"m", 1, "127.0.0.1", 8000, "127.0.0.1", 5000, 12, 1000, 0, 10, False, 0.001, 0, 1, 0.0, 1)
OTHER = TcpSocket(b"x", 1, "127.0.0.1", 9000, "127.0.0.1", 5001, 13, 1001, 0, 77, False, 0.001, 0, 1, 0.0, 1)

# Accepts one connection, writes until the reader takes no more, and says how much the kernel still holds.
WRITER = """
import fcntl, socket, struct, sys, time
server = socket.create_server(("127.0.0.1", 0))
print("ready", flush=True)
print(server.getsockname()[1], flush=True)
end, _ = server.accept()
end.setblocking(False)
quiet = 0
while quiet < 20:
    try:
        end.send(b"x" * 65536)
        quiet = 0
    except BlockingIOError:
        quiet += 1
        time.sleep(0.01)
print(struct.unpack("=i", fcntl.ioctl(end, 0x5411, b"\\0" * 4))[0], flush=True)
sys.stdin.read()
"""


class Shown:
    """A fake view of a namespace: the sockets that a test says."""

    def __init__(self, sockets: list[TcpSocket]) -> None:
        """Show these."""
        self.shown = sockets
        self.closed = False

    def sockets(self) -> list[TcpSocket]:
        """What was said."""
        return self.shown

    def interfaces(self) -> Mapping[str, str]:
        """None."""
        return {}

    def close(self) -> None:
        """Note it."""
        self.closed = True


def put_engine(tree: Any, pid: int, inode: int, *sockets: int) -> Path:
    """A made engine process in a namespace, with these sockets open."""
    folder: Path = tree.put(pid, 1, "vllm serve m")
    (folder / "ns").mkdir()
    (folder / "ns" / "net").symlink_to(f"net:[{inode}]")
    (folder / "net").mkdir()
    (folder / "net" / "dev").write_text("")
    (folder / "fd").mkdir()
    for number, socket_inode in enumerate(sockets):
        (folder / "fd" / str(number)).symlink_to(f"socket:[{socket_inode}]")
    (folder / "fd" / "99").symlink_to("/dev/null")
    (folder / "status").write_text("Name:\tx\nUid:\t1000\t1000\t1000\t1000\n")
    return folder


def test_own_sockets_alone(tree: Any, values: Callable[..., Any]) -> None:
    """Of the namespace's sockets those that the engine holds count."""
    put_engine(tree, 5, 7, 11, 12)
    source = TcpConnections(tree.proc, tree.processes(), lambda namespace: Shown([SERVER, MINE, OTHER]))

    assert 10.0 == values(source.read())["send_queue", "lo", "7"]


def test_by_user(tree: Any, values: Callable[..., Any], caplog: Any, monkeypatch: Any) -> None:
    """Where descriptors may not be listed the sockets of the engine's user stand for its own; said once."""
    put_engine(tree, 5, 7)
    tree.put(5, 1, "vllm serve m")
    put_engine(tree, 6, 7)
    tree.put(6, 5, "VLLM::EngineCore")
    listed = os.listdir

    def refuse(path: Any) -> list[str]:
        if str(path).endswith(("/5/fd", "/6/fd")):
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr("otel_attrib.collector.sources.socket_owners.os.listdir", refuse)
    source = TcpConnections(tree.proc, tree.processes(), lambda namespace: Shown([SERVER, MINE, OTHER]))
    with caplog.at_level(logging.WARNING):
        found = [values(source.read()) for _ in range(3)]

    assert [10.0] * 3 == [one["send_queue", "lo", "7"] for one in found]
    assert 1 == len(caplog.records)
    assert "all of its user's stand for them" in caplog.text


def test_by_user_of_many_engines(
    tree: Any, values: Callable[..., Any], caplog: Any, monkeypatch: Any
) -> None:
    """That sockets may not be listed is said once, however many engines come, in whatever namespaces."""
    listed = os.listdir

    def refuse(path: Any) -> list[str]:
        if str(path).endswith("/fd"):
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr("otel_attrib.collector.sources.socket_owners.os.listdir", refuse)
    source = TcpConnections(tree.proc, tree.processes(), lambda namespace: Shown([SERVER, MINE]))
    with caplog.at_level(logging.WARNING):
        for pid in range(5, 25):
            put_engine(tree, pid, 7 + pid % 3)
            values(source.read())

    assert 1 == len(caplog.records)


def test_namespace_refused(tree: Any, values: Callable[..., Any], caplog: Any) -> None:
    """An engine in a namespace that may not be entered is told of once; the others are read."""
    put_engine(tree, 5, 7, 11, 12)
    put_engine(tree, 6, 8, 11, 12)

    def view(namespace: Namespace) -> Shown:
        if namespace.name == "7":
            raise PermissionError(1, "Operation not permitted")
        return Shown([SERVER, MINE])

    source = TcpConnections(tree.proc, tree.processes(), view)
    with caplog.at_level(logging.WARNING):
        found = [values(source.read()) for _ in range(2)]

    assert [{"8"}] * 2 == [{key[-1] for key in one} for one in found]
    assert 1 == len(caplog.records)
    assert "connections of pid 5 are in another network namespace" in caplog.text


def test_engine_ends(tree: Any, values: Callable[..., Any]) -> None:
    """Without an engine there is nothing to read, and what was opened is closed."""
    put_engine(tree, 5, 7, 11, 12)
    view = Shown([SERVER, MINE])
    source = TcpConnections(tree.proc, tree.processes(), lambda namespace: view)
    first = values(source.read())
    tree.remove(5)

    assert first
    assert {} == values(source.read())
    assert view.closed


def test_new_socket_is_looked_for(tree: Any) -> None:
    """A socket that was not there before makes the descriptors be listed again; else they are after 5 s."""
    clock = [0.0]
    folder = put_engine(tree, 5, 7, 11)
    owners = SocketOwners(tree.proc, lambda: clock[0])
    processes = tree.processes().current()
    first = owners.owned([SERVER, OTHER], processes)
    (folder / "fd" / "7").symlink_to("socket:[12]")
    second = owners.owned([SERVER, OTHER, MINE], processes)
    (folder / "fd" / "7").unlink()
    third = owners.owned([SERVER, OTHER, MINE], processes)
    clock[0] = 5.0
    fourth = owners.owned([SERVER, OTHER, MINE], processes)

    assert ([SERVER], [SERVER, MINE], [SERVER, MINE], [SERVER]) == (first, second, third, fourth)


def test_recorded_owners(machine: Any) -> None:
    """Of the recorded sockets those that `ss -p` showed with one of the engine's pids are the engine's."""
    processes = machine.processes().current()
    pids = {str(process.pid) for process in processes}
    shown = {
        int(re.findall(r"ino:(\d+)", line)[0]): bool(pids & set(re.findall(r"pid=(\d+)", line)))
        for line in machine.oracle["sockets"].splitlines()
        if "ino:" in line
    }
    sockets = [TcpSocket(str(inode).encode(), 1, "", 1, "", 2, inode, 0, 0, 0, False) for inode in shown]
    owned = {one.inode for one in SocketOwners(machine.proc).owned(sockets, processes)}

    assert any(shown.values())
    assert {inode for inode, engine in shown.items() if engine} == owned


def test_reader_that_rests(start: Callable[..., Any], values: Callable[..., Any]) -> None:
    """A real reader that rests shuts its window once; the queue is what SIOCOUTQ says in the writer."""
    child = start(WRITER)
    port = int(child.stdout.readline())
    try:
        source = TcpConnections(processes=EngineProcesses(pids=[child.pid], only=True))
    except Unavailable as why:
        pytest.skip(str(why))
    source.read()
    with socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.connect(("127.0.0.1", port))
        queued = int(child.stdout.readline())
        found = {key[:2]: value for key, value in values(source.read()).items()}
        time.sleep(0.4)
        again = {key[:2]: value for key, value in values(source.read()).items()}
    source.close()

    assert queued > 0
    assert queued == found["send_queue", "lo"] == again["send_queue", "lo"]
    assert 1.0 == found["tcp_zero_window", "lo"] == again["tcp_zero_window", "lo"]
    assert again["receive_window_limited", "lo"] - found["receive_window_limited", "lo"] >= 0.2


def test_retransmits_by_interface(start: Callable[..., Any], values: Callable[..., Any]) -> None:
    """Behind an interface that drops what is too fast, segments sent again are those that ss counts."""
    if shutil.which("tc") is None or shutil.which("ss") is None:
        pytest.skip("tc and ss (iproute2) are not installed")
    shell = (
        "ip link set lo mtu 1500 up && tc qdisc add dev lo root tbf rate 4mbit burst 4kb limit 6kb && "
        "echo made && exec cat"
    )
    with subprocess.Popen(
        ["unshare", "-n", "sh", "-c", shell],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as away:
        assert away.stdin is not None
        assert away.stdout is not None
        if away.stdout.readline() != "made\n":
            away.stdin.close()
            pytest.skip("no such network namespace can be made here: needs root and sch_tbf")
        program = (
            "import socket, sys\n"
            "a = socket.create_server(('127.0.0.1', 0)); b = socket.create_connection(a.getsockname())\n"
            "c, _ = a.accept()\n"
            "print('ready', flush=True); sys.stdin.readline()\n"
            "import threading; left = 300_000\n"
            "threading.Thread(target=b.sendall, args=(bytes(left),)).start()\n"
            "while left: left -= len(c.recv(left))\n"
            "print('done', flush=True); sys.stdin.read()\n"
        )
        enter = ["nsenter", f"--net=/proc/{away.pid}/ns/net"]
        child = start(program, before=enter)
        source = TcpConnections(processes=EngineProcesses(pids=[child.pid], only=True))
        source.read()
        child.stdin.write("\n")
        child.stdin.flush()
        child.stdout.readline()
        printed = subprocess.run([*enter, "ss", "-tniOH"], capture_output=True, text=True, check=True).stdout
        found = {key[:2]: value for key, value in values(source.read()).items()}
        source.close()
        away.stdin.close()

    counted = sum(int(word.rpartition("/")[2]) for word in printed.split() if word.startswith("retrans:"))
    assert counted > 0
    assert float(counted) == found["interface_retransmits", "lo"]
