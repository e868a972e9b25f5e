"""Ports are free, the service's own, or held by somebody who is named."""

import os
import socket
from pathlib import Path

import pytest

from otel_attrib.doctor import ports as module
from otel_attrib.doctor.check import Surroundings
from otel_attrib.doctor.ports import holder, listeners, ports

FREE = {f"OTEL_ATTRIB_{name}_PORT": "0" for name in ("OTLP_GRPC", "OTLP_HTTP", "CLICKHOUSE", "HTTP")}
NOBODY = "http://127.0.0.1:1"


def test_free_ports() -> None:
    """Port 0 is always free."""
    assert ["OK"] * 4 == [found.level for found in ports(Surroundings(url=NOBODY, environ=FREE))]


def test_held_port_names_the_holder() -> None:
    """A port in use fails, and says by which process and how to avoid it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        environ = FREE | {"OTEL_ATTRIB_CLICKHOUSE_PORT": port}
        (found,) = [f for f in ports(Surroundings(url=NOBODY, environ=environ)) if f.level != "OK"]

    assert ("FAIL", f"port {port}") == (found.level, found.name)
    assert f"(pid {os.getpid()})" in found.text
    assert "--clickhouse-port 0" in found.fix


def test_holder_out_of_sight(tmp_path: Path) -> None:
    """Without /proc, or for another user's process, nobody is named."""
    assert holder(80, tmp_path) is None


def test_recorded_machine(tmp_path: Path) -> None:
    """The holder is found through the socket's inode in a process's descriptors."""
    (tmp_path / "net").mkdir()
    row = "0: 0100007F:10DD 00000000:0000 {state} 0:0 0:0 0 0 0 {inode} 1"
    table = ["head", row.format(state="06", inode=7), row.format(state="0A", inode=4711)]
    (tmp_path / "net/tcp").write_text("\n".join(table))
    descriptors = tmp_path / "42/fd"
    descriptors.mkdir(parents=True)
    (descriptors / "3").symlink_to("socket:[4711]")
    (tmp_path / "42/cmdline").write_bytes(b"otelcol\0--config\0x.yaml\0")

    assert (42, "otelcol --config x.yaml") == holder(0x10DD, tmp_path)
    assert holder(0x10DE, tmp_path) is None


def test_ports_of_the_running_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ports that the service names as its own are not held by a stranger."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        status = {"clickhouse": f"http://127.0.0.1:{port}", "version": "0.1.0"}
        monkeypatch.setattr(module, "running", lambda around: status)
        found = list(ports(Surroundings(environ=FREE | {"OTEL_ATTRIB_CLICKHOUSE_PORT": str(port)})))

    assert ["OK"] * 4 == [each.level for each in found]
    assert "held by the running service" in found[2].text


@pytest.mark.parametrize(
    ("environ", "level"),
    [
        ({}, "OK"),
        ({"OTEL_ATTRIB_HOST": "0.0.0.0"}, "WARN"),
        ({"OTEL_ATTRIB_HOST": "0.0.0.0", "OTEL_ATTRIB_OTLP_TOKEN": "t"}, "OK"),
    ],
    ids=["loopback", "open", "token"],
)
def test_listeners(environ: dict[str, str], level: str) -> None:
    """Listeners that other machines reach ask for a token."""
    (found,) = listeners(Surroundings(environ=environ))

    assert level == found.level
