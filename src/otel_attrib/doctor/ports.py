"""Ports that `otel-attrib up` binds: free, its own already, or somebody else's, and whose."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from otel_attrib.doctor.check import Finding, Surroundings, check, fail, ok, warn
from otel_attrib.errors import OtelAttribError
from otel_attrib.schema.service import DEFAULT_URL, service_status

__all__ = ["Holder", "holder", "running"]

_LISTEN = "0A"
_PORTS = {
    "otlp_grpc_port": "--otlp-grpc-port",
    "otlp_http_port": "--otlp-http-port",
    "clickhouse_port": "--clickhouse-port",
    "http_port": "--http-port",
}
Holder = tuple[int, str]


@check("ports")
def ports(around: Surroundings) -> Iterator[Finding]:
    """Each port of `up` can be bound, or is held by an `up` that answers."""
    settings, own = around.settings(), _own_ports(running(around))
    for name, option in _PORTS.items():
        port = int(getattr(settings, name))
        yield _finding(f"port {port}", name, port, option, settings.host, own, around.proc)


def _finding(label: str, name: str, port: int, option: str, host: str, own: set[int], proc: Path) -> Finding:
    if port == 0:
        return ok("port 0", f"{name}: a free one is picked")
    if port in own:
        return ok(label, f"{name}: held by the running service")
    if (why := _refused(host, port)) is None:
        return ok(label, f"{name}: free on {host}")
    found = holder(port, proc)
    who = f"{found[1]} (pid {found[0]})" if found else "a process that is not visible from here"
    if "in use" in why:
        return fail(label, f"{name}: held by {who}", f"stop it, or: otel-attrib up {option} 0")
    return fail(label, f"{name}: {why}", f"choose another: otel-attrib up {option} 0, --host 127.0.0.1")


def _refused(host: str, port: int) -> str | None:
    """Why the port cannot be bound; None when it can."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen(1)
        except OSError as fault:
            return (fault.strerror or str(fault)).lower()
    return None


def holder(port: int, proc: Path) -> Holder | None:
    """Process id and command of who listens on a TCP port, as far as this user may see it."""
    inodes = {line[9] for table in ("tcp", "tcp6") for line in _sockets(proc / "net" / table, port)}
    for process in proc.glob("[0-9]*") if inodes else ():
        if inodes & _held(process / "fd"):
            return int(process.name), _command(process)
    return None


def _sockets(table: Path, port: int) -> Iterator[list[str]]:
    try:
        lines = table.read_text().splitlines()[1:]
    except OSError:
        return
    for line in lines:
        cells = line.split()
        if cells[3] == _LISTEN and int(cells[1].rpartition(":")[2], 16) == port:
            yield cells


def _held(descriptors: Path) -> set[str]:
    """Inodes of the sockets that a process holds."""
    try:
        with os.scandir(descriptors) as entries:
            targets = [os.readlink(entry.path) for entry in entries]
    except OSError:
        return set()
    return {target[8:-1] for target in targets if target.startswith("socket:[")}


def _command(process: Path) -> str:
    try:
        words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return "unknown"
    return " ".join(words).strip()[:60] or "unknown"


def running(around: Surroundings) -> dict[str, Any] | None:
    """What the service says of itself; None when none answers."""
    try:
        return service_status(around.service_url() or DEFAULT_URL, timeout_s=2.0)
    except OtelAttribError:
        return None


def _own_ports(status: dict[str, Any] | None) -> set[int]:
    if status is None:
        return set()
    addresses = [value for value in status.values() if isinstance(value, str) and "://" in value]
    found = {urlsplit(address).port for address in addresses}
    return {port for port in found if port}


@check("listeners")
def listeners(around: Surroundings) -> Iterator[Finding]:
    """A listener that other machines reach has a token."""
    settings = around.settings()
    if settings.host in ("127.0.0.1", "::1", "localhost"):
        yield ok("listeners", f"only this machine reaches them ({settings.host})")
    elif not settings.otlp_token:
        fix = "set OTEL_ATTRIB_OTLP_TOKEN (and TLS), or keep OTEL_ATTRIB_HOST at 127.0.0.1"
        yield warn("listeners", f"{settings.host} is reached by other machines and asks for no token", fix)
    else:
        yield ok("listeners", f"{settings.host}, with a token")
