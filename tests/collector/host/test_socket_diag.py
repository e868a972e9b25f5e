"""TCP sockets as the kernel tells of them."""

import json
import os
import re
import shutil
import socket
import struct
import subprocess
import time
from fcntl import ioctl
from pathlib import Path

import pytest

from otel_attrib.collector.sources.interface_addresses import interface_of_address
from otel_attrib.collector.sources.netlink import ROUTE, SOCK_DIAG, Netlink, attributes
from otel_attrib.collector.sources.socket_diag import LISTENING, TcpSocket, parse_socket, tcp_sockets

SIOCOUTQ = 0x5411


def every_socket() -> dict[tuple[int, int], TcpSocket]:
    """What the kernel tells, by local and remote port."""
    try:
        netlink = Netlink(SOCK_DIAG)
        found = list(tcp_sockets(netlink))
        netlink.close()
    except OSError as fault:
        pytest.skip(f"no socket diagnostics here: {fault}")
    return {(one.local_port, one.remote_port): one for one in found}


def info(end: socket.socket) -> bytes:
    """The kernel's `tcp_info` of one's own socket."""
    return end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_own_connection(address: str) -> None:
    """Of a connection of ours every field is what getsockopt, ioctl and fstat say of it."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        server = socket.create_server((address, 0), family=family, backlog=7)
    except OSError as fault:
        pytest.skip(f"no {address} here: {fault}")
    with server, socket.create_connection(server.getsockname()[:2]) as client:
        end, _ = server.accept()
        with end:
            client.sendall(b"x" * 1000)
            # Not read by the other end: it stands in its receive queue.
            while len(end.recv(2000, socket.MSG_PEEK)) < 1000:
                pass
            found = every_socket()
            here, there = client.getsockname()[1], server.getsockname()[1]
            mine, accepted, listening = found[here, there], found[there, here], found[there, 0]
            told = info(client)

    assert (address, address, here, there) == (mine.local, mine.remote, mine.local_port, mine.remote_port)
    assert (1, 1, LISTENING) == (mine.state, accepted.state, listening.state)
    assert os.getuid() == mine.user
    assert 1000 == accepted.receive_queue
    assert (0, 0) == (listening.receive_queue, listening.send_queue)
    assert 0 == mine.send_queue
    assert struct.unpack_from("=I", told, 68)[0] == round((mine.rtt_s or 0) * 1e6)
    assert struct.unpack_from("=I", told, 100)[0] == mine.retransmits
    assert not mine.shut


def test_inode_and_send_queue() -> None:
    """The inode is the descriptor's, the queue what SIOCOUTQ counts; a resting reader shuts its window."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(server.getsockname())
        end, _ = server.accept()
        with client, end:
            end.setblocking(False)
            written = 0
            try:
                while True:
                    written += end.send(b"x" * 65536)
            except BlockingIOError:
                pass
            for _ in range(200):
                mine = every_socket()[server.getsockname()[1], client.getsockname()[1]]
                if mine.shut:
                    break
                time.sleep(0.005)
            queued = struct.unpack("=i", ioctl(end, SIOCOUTQ, b"\0" * 4))[0]

            assert os.fstat(end.fileno()).st_ino == mine.inode
            assert 0 < queued == mine.send_queue <= written
            assert mine.shut


def test_as_ss_prints() -> None:
    """The listening sockets of this namespace are those that ss lists."""
    if shutil.which("ss") is None:
        pytest.skip("ss (iproute2) is not installed")
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        mine = {one.local_port for one in every_socket().values() if one.state == LISTENING}
        printed = subprocess.run(["ss", "-tlnH"], capture_output=True, text=True, check=True).stdout
        ours = {one.getsockname()[1], two.getsockname()[1]}

    shown = {int(row.split()[3].rpartition(":")[2]) for row in printed.splitlines()}
    assert ours <= mine
    assert ours <= shown
    # Other programs may begin and end to listen between the two looks.
    assert len(mine ^ shown) <= 2


def test_older_kernel() -> None:
    """Fields that a shorter `tcp_info` lacks are None, never nought."""
    head = bytes([socket.AF_INET, 1, 0, 0]) + struct.pack("!HH", 80, 81) + bytes(40) + bytes(24)
    long = bytearray(232)
    struct.pack_into("=I", long, 68, 1500)
    struct.pack_into("=Q", long, 176, 2_000_000)
    struct.pack_into("=I", long, 228, 65536)

    def parse(size: int) -> TcpSocket:
        return parse_socket(head[:72] + struct.pack("=HH", 4 + size, 2) + bytes(long[:size]))

    assert (0.0015, 2.0, 65536) == (parse(232).rtt_s, parse(232).window_limited_s, parse(232).window)
    assert (0.0015, None, None, None) == (
        parse(104).rtt_s,
        parse(104).acknowledged,
        parse(104).window_limited_s,
        parse(104).window,
    )
    assert (None, None) == (parse(0).rtt_s, parse(0).retransmits)


def test_interfaces_as_ip_prints() -> None:
    """Addresses and their interfaces are those that ip lists."""
    if shutil.which("ip") is None:
        pytest.skip("ip (iproute2) is not installed")
    netlink = Netlink(ROUTE)
    mine = interface_of_address(netlink)
    netlink.close()
    printed = subprocess.run(["ip", "-j", "address"], capture_output=True, text=True, check=True).stdout
    shown = {
        one["local"]: link["ifname"] for link in json.loads(printed) for one in link.get("addr_info", ())
    }

    assert shown == mine


def test_attributes() -> None:
    """Attributes stand at multiples of four; what is cut off ends them."""
    raw = struct.pack("=HH3sx", 7, 1, b"abc") + struct.pack("=HHI", 8, 2, 5) + b"\0\0\0\0"

    assert [(1, b"abc"), (2, b"\5\0\0\0")] == list(attributes(raw, 0))


def test_kernel_says_no() -> None:
    """A request that the kernel does not know raises its own words."""
    netlink = Netlink(ROUTE)
    try:
        with pytest.raises(OSError, match=re.compile("not supported|Invalid argument", re.IGNORECASE)):
            list(netlink.dump(9999, b""))
    finally:
        netlink.close()


def test_other_namespace() -> None:
    """A socket made in another namespace sees that one's interfaces, and this thread is back in its own."""
    ready = subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False)
    if ready.returncode:
        pytest.skip("no network namespace can be made here: needs root")
    with subprocess.Popen(["unshare", "-n", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as away:
        assert away.stdin is not None
        assert away.stdout is not None
        away.stdin.write(b"x")
        away.stdin.flush()
        away.stdout.read(1)
        home = os.readlink("/proc/thread-self/ns/net")
        netlink = Netlink(ROUTE, Path(f"/proc/{away.pid}/ns/net"))
        found = interface_of_address(netlink)
        netlink.close()
        after = os.readlink("/proc/thread-self/ns/net")
        away.stdin.close()

    # A new namespace has one interface, which is down and has no address.
    assert {} == found
    assert home == after
