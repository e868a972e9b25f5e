"""Ports on which the engine serves, over a recorded /proc and a real socket."""

import os
import socket
from pathlib import Path

from otel_attrib.collector.agent.engine_roles import Role
from otel_attrib.collector.agent.processes import EngineProcess
from otel_attrib.collector.sources.ebpf.engine_ports import listening_ports

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
ROW = "   0: {local} {remote} {state} 00000000:00000000 00:00000000 00000000     0        0 {inode} 1 0 100\n"


def process(pid: int, role: Role = "api_server") -> EngineProcess:
    """One of an engine."""
    return EngineProcess(pid, role, "", 0, "")


def recorded(proc: Path, pid: int, inodes: list[int], tcp: str = "", tcp6: str = "") -> None:
    """A process of a recorded /proc."""
    folder = proc / str(pid)
    (folder / "fd").mkdir(parents=True)
    (folder / "net").mkdir()
    for number, inode in enumerate(inodes):
        (folder / "fd" / str(number)).symlink_to(f"socket:[{inode}]")
    (folder / "net/tcp").write_text(HEAD + tcp)
    (folder / "net/tcp6").write_text(HEAD + tcp6)


def test_own_listening_sockets_alone(tmp_path: Path) -> None:
    """Of a machine's sockets those count that listen and that an API server has open, of both families."""
    four = (
        ROW.format(local="0100007F:1F40", remote="00000000:0000", state="0A", inode=11)
        + ROW.format(local="0100007F:1F41", remote="00000000:0000", state="0A", inode=99)
        + ROW.format(local="0100007F:1F42", remote="0100007F:D431", state="01", inode=12)
    )
    six = ROW.format(local="0" * 32 + ":1F43", remote="0" * 32 + ":0000", state="0A", inode=13)
    recorded(tmp_path, 7, [11, 12, 13], four, six)
    recorded(tmp_path, 8, [99], four)

    assert {8000: 7, 8003: 7} == {
        port: server.pid
        for port, server in listening_ports([process(7), process(8, "worker"), process(9)], tmp_path).items()
    }


def test_a_real_socket() -> None:
    """A socket that this process listens on is found as the kernel tells it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert server.getsockname()[1] in listening_ports([process(os.getpid())])
