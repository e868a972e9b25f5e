"""What connections say of the network and of the engine's readers."""

from collections.abc import Callable
from typing import Any

from otel_attrib.collector.sources.socket_diag import LISTENING, TcpSocket
from otel_attrib.collector.sources.tcp_account import TcpAccount

INTERFACES = {"10.0.0.1": "eth0", "10.1.0.1": "ib0"}
SERVER = TcpSocket(b"s", LISTENING, "0.0.0.0", 8000, "0.0.0.0", 0, 1, 0, 3, 0, False)
CLIENT = TcpSocket(
    b"c", 1, "10.0.0.1", 8000, "10.9.9.9", 5000, 2, 0, 0, 700, False, 0.010, 4, 1000, 0.5, 65536
)
OUTGOING = CLIENT._replace(identity=b"o", local_port=40000, remote_port=4317, send_queue=9999, rtt_s=0.9)


def look(account: TcpAccount, *sockets: TcpSocket, owned: tuple[TcpSocket, ...] | None = None) -> list[Any]:
    """Let the account look at sockets that are all the engine's."""
    return account.take(sockets, sockets if owned is None else owned, INTERFACES)


def test_client(values: Callable[..., Any]) -> None:
    """Levels are there at the first look; totals count what was added since it."""
    account = TcpAccount("7")
    first = values(look(account, SERVER, CLIENT))
    second = values(
        look(account, SERVER, CLIENT._replace(retransmits=6, acknowledged=2000, window_limited_s=0.75))
    )

    assert {
        ("interface_retransmits", "eth0", "7"): 0.0,
        ("tcp_zero_window", "eth0", "7"): 0.0,
        ("receive_window_limited", "eth0", "7"): 0.0,
        ("send_queue", "eth0", "7"): 700.0,
        ("tcp_rtt", "eth0", "7"): 0.010,
        ("accept_queue", "7"): 3.0,
    } == first
    assert (2.0, 0.25) == (
        second["interface_retransmits", "eth0", "7"],
        second["receive_window_limited", "eth0", "7"],
    )


def test_new_connection_counts_whole(values: Callable[..., Any]) -> None:
    """A connection made after the first look counts from its beginning, and stays counted when it ends."""
    account = TcpAccount("7")
    look(account, SERVER)
    seen = [values(look(account, SERVER, CLIENT)), values(look(account, SERVER))]

    assert [4.0, 4.0] == [one["interface_retransmits", "eth0", "7"] for one in seen]
    assert [0.5, 0.5] == [one["receive_window_limited", "eth0", "7"] for one in seen]
    assert [700.0, 0.0] == [one["send_queue", "eth0", "7"] for one in seen]


def test_resting_connection(values: Callable[..., Any]) -> None:
    """A connection that moved nothing since the last look has an old round trip: it does not count."""
    account = TcpAccount("7")
    other = CLIENT._replace(identity=b"d", remote_port=5001, rtt_s=0.030)
    look(account, SERVER, CLIENT, other)
    found = values(look(account, SERVER, CLIENT, other._replace(acknowledged=1001)))
    quiet = values(look(account, SERVER, CLIENT, other._replace(acknowledged=1001)))

    assert 0.030 == found["tcp_rtt", "eth0", "7"]
    assert ("tcp_rtt", "eth0", "7") not in quiet


def test_shut_windows(values: Callable[..., Any]) -> None:
    """Each time that a window shuts is one event, however long it stays so; probes tell as well."""
    account = TcpAccount("7")
    states: list[dict[str, Any]] = [
        {},
        {"window": 0},
        {"window": 0, "probing": True},
        {},
        {"window": None, "probing": True},
        {"window": 0},
    ]
    seen = [values(look(account, SERVER, CLIENT._replace(**state))) for state in states]

    assert [0, 1, 1, 1, 2, 2] == [one["tcp_zero_window", "eth0", "7"] for one in seen]


def test_outgoing(values: Callable[..., Any]) -> None:
    """What the engine opened itself is no client; what it sends again still is the network's."""
    account = TcpAccount("7")
    look(account, SERVER, OUTGOING)
    found = values(look(account, SERVER, OUTGOING._replace(retransmits=5, acknowledged=2000, window=0)))

    assert (1.0, 0.0, 0.0) == tuple(
        found[key, "eth0", "7"] for key in ("interface_retransmits", "tcp_zero_window", "send_queue")
    )
    assert ("tcp_rtt", "eth0", "7") not in found


def test_ranks_among_themselves(values: Callable[..., Any]) -> None:
    """Both ends of a connection being the engine's, neither is a client's."""
    one = CLIENT._replace(identity=b"1", local="127.0.0.1", remote="127.0.0.1")
    two = one._replace(identity=b"2", local_port=5000, remote_port=8000)
    found = values(look(TcpAccount("7"), SERVER, one, two))

    assert 0.0 == found["send_queue", "lo", "7"]
    assert ("tcp_rtt", "lo", "7") not in found


def test_others_do_not_count(values: Callable[..., Any]) -> None:
    """Another program's sockets are not the engine's; one that waits to be accepted already is."""
    stranger = CLIENT._replace(identity=b"x", local_port=22, send_queue=5555)
    waiting = CLIENT._replace(identity=b"w", inode=0, remote_port=6000, send_queue=11)
    found = values(look(TcpAccount("7"), SERVER, stranger, waiting, owned=(SERVER,)))

    assert 11.0 == found["send_queue", "eth0", "7"]


def test_interfaces_apart(values: Callable[..., Any]) -> None:
    """Each interface has series of its own; an unknown address is `other`."""
    ib = CLIENT._replace(identity=b"i", local="10.1.0.1", send_queue=1)
    odd = CLIENT._replace(identity=b"u", local="10.2.0.1", send_queue=2)
    found = values(look(TcpAccount("7"), SERVER, CLIENT, ib, odd))

    assert {"eth0": 700.0, "ib0": 1.0, "other": 2.0} == {
        name: value for (key, *rest), value in found.items() if key == "send_queue" for name in rest[:1]
    }


def test_kernel_without_fields(values: Callable[..., Any]) -> None:
    """An old kernel's missing fields count nothing; its round trips always do."""
    old = CLIENT._replace(retransmits=None, acknowledged=None, window_limited_s=None, window=None)
    account = TcpAccount("7")
    look(account, SERVER, old)
    found = values(look(account, SERVER, old))

    assert (0.0, 0.010) == (found["interface_retransmits", "eth0", "7"], found["tcp_rtt", "eth0", "7"])
