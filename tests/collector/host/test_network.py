"""Interfaces and TCP totals of the engine's network namespace."""

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from otel_attrib.collector.sources.network import Network, parse_interfaces, parse_table

HEAD = (
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n"
)


def put_network(folder: Path, inode: int, resent: int = 0, interfaces: str = "") -> None:
    """Let a made process be in a network namespace."""
    (folder / "ns").mkdir(parents=True)
    (folder / "ns" / "net").symlink_to(f"net:[{inode}]")
    (folder / "net").mkdir()
    (folder / "net" / "dev").write_text(HEAD + interfaces)
    (folder / "net" / "snmp").write_text(
        f"Tcp: InSegs OutSegs RetransSegs\nTcp: 1 2 {resent}\nUdp: A\nUdp: 1\n"
    )
    (folder / "net" / "netstat").write_text("TcpExt: ListenOverflows ListenDrops\nTcpExt: 4 5\n")


def test_recorded(machine: Any, values: Callable[..., Any]) -> None:
    """Bytes, errors and drops of each interface are what `ip -s link` printed, segments what nstat did."""
    found = values(Network(machine.proc, machine.processes()).read())
    told = {row[0]: int(row[1]) for row in machine.rows("counters") if len(row) >= 2 and row[0] != "#kernel"}
    shown = [row for row in json.loads(machine.oracle["interfaces"]) if row["stats64"]["rx"]["packets"]]

    assert shown
    for row in shown:
        for way, name in (("rx", "receive"), ("tx", "transmit")):
            stats = row["stats64"][way]
            for key, field in (
                ("network_bytes", "bytes"),
                ("network_errors", "errors"),
                ("network_dropped", "dropped"),
            ):
                mine = [value for named, value in found.items() if named[:3] == (key, row["ifname"], name)]
                assert [float(stats[field])] == mine
    assert [float(told["TcpRetransSegs"])] == [n for key, n in found.items() if key[0] == "tcp_retransmits"]
    assert [float(told["TcpExtListenOverflows"])] == [
        n for key, n in found.items() if key[0] == "listen_overflows"
    ]


def test_namespaces_apart(tree: Any, values: Callable[..., Any]) -> None:
    """Each namespace with an engine is read once, through any process in it; others are not."""
    put_network(tree.proc / "self", 1, resent=99)
    for pid, inode, resent in ((5, 7, 1), (6, 7, 1), (8, 9, 2)):
        put_network(tree.put(pid, 1, "vllm serve m"), inode, resent)

    assert {("tcp_retransmits", "7"): 1.0, ("tcp_retransmits", "9"): 2.0} == {
        key: value
        for key, value in values(Network(tree.proc, tree.processes()).read()).items()
        if "tcp" in key[0]
    }


def test_without_an_engine(tree: Any, values: Callable[..., Any]) -> None:
    """While no engine runs this process's own namespace is read."""
    put_network(tree.proc / "self", 1, resent=99)

    assert {("tcp_retransmits", "1"): 99.0, ("listen_overflows", "1"): 4.0} == values(
        Network(tree.proc, tree.processes()).read()
    )


def test_interfaces_left_out(tree: Any, values: Callable[..., Any]) -> None:
    """Interfaces without traffic and other containers' ends are left out."""
    rows = (
        "    lo: 10 1 0 0 0 0 0 0 20 2 0 0 0 0 0 0\n"
        "  eth0:100 1 2 3 0 0 0 0 200 4 5 6 0 0 0 0\n"
        "  eth1: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
        " veth1: 5 1 0 0 0 0 0 0 5 1 0 0 0 0 0 0\n"
    )
    put_network(tree.put(5, 1, "vllm serve m"), 7, interfaces=rows)
    found = values(Network(tree.proc, tree.processes()).read())

    assert {"lo", "eth0"} == {key[1] for key in found if key[0].startswith("network_")}
    assert (100.0, 2.0, 3.0) == tuple(
        found[key, "eth0", "receive", "7"] for key in ("network_bytes", "network_errors", "network_dropped")
    )
    assert (200.0, 5.0, 6.0) == tuple(
        found[key, "eth0", "transmit", "7"] for key in ("network_bytes", "network_errors", "network_dropped")
    )


def test_namespace_ends(tree: Any, values: Callable[..., Any]) -> None:
    """When the process through which a namespace is seen ends, another one shows it."""
    put_network(tree.proc / "self", 1)
    for pid in (5, 6):
        put_network(tree.put(pid, 1, "vllm serve m"), 7, resent=pid)
    network = Network(tree.proc, tree.processes())
    first = values(network.read())
    tree.remove(5)
    network.read()
    network.close()

    assert 5.0 == first["tcp_retransmits", "7"]
    assert 6.0 == values(network.read())["tcp_retransmits", "7"]


def test_real_bytes(tree: Any, values: Callable[..., Any]) -> None:
    """A million bytes over loopback here are a million and their headers in and out of `lo`."""
    network = Network(processes=tree.processes())

    def loopback() -> float:
        found: dict[tuple[str, ...], float] = values(network.read())
        return sum(value for key, value in found.items() if key[:3] == ("network_bytes", "lo", "receive"))

    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as one,
    ):
        two, _ = server.accept()
        before = loopback()
        sent = 0
        with two:
            while sent < 1_000_000:
                one.sendall(b"x" * 50_000)
                sent += 50_000
                left = 50_000
                while left:
                    left -= len(two.recv(left))
        after = loopback()
    network.close()

    assert 1_000_000 <= after - before


def test_table_of_nothing() -> None:
    """A protocol that is not told of has no counters, a longer line of names does no harm."""
    assert {} == parse_table(b"Udp: A\nUdp: 1\n", "Tcp")
    assert {"A": 1} == parse_table(b"Tcp: A B\nTcp: 1\n", "Tcp")
    assert {} == parse_interfaces(HEAD.encode() + b"nonsense\n")
