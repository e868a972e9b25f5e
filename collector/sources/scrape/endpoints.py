"""Which pages are read: those given, those of engines that are found, those of exporters of devices here.

Nothing is tried blindly: a port of an engine is one on which its API server listens and which was chosen, not
one that the kernel gave (those are between its processes); the usual port of an exporter is asked only where
the devices are that it exports. Loopback alone is tried.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from threading import Lock

from otel_attrib.collector.agent.processes import EngineProcesses, shared_processes
from otel_attrib.collector.sources.ebpf.engine_ports import listening_ports
from otel_attrib.collector.sources.scrape.mapping import KINDS, mapping
from otel_attrib.collector.sources.scrape.target import Target, target

__all__ = ["Endpoints", "shared_endpoints"]

_LOOPBACK = "127.0.0.1"


class Endpoints:
    """The pages to read; `current` looks at the machine again."""

    def __init__(self, processes: EngineProcesses | None = None, root: Path = Path("/")) -> None:
        """Nothing was given yet; devices are looked for below `root`."""
        self._processes = processes
        self._root = root
        self._lock = Lock()
        self._given: tuple[Target, ...] = ()
        self.token = ""

    def give(self, texts: Iterable[str], token: str = "") -> None:
        """Read these pages too; `UsageError` for what is no address."""
        with self._lock:
            self._given = tuple(dict.fromkeys(target(text) for text in texts))
            self.token = token

    def current(self) -> Sequence[Target]:
        """Return every page, those that are given first; an address comes once."""
        found: dict[tuple[str, int], Target] = {}
        for each in (*self._given, *self._exporters(), *self._engines()):
            host = _LOOPBACK if each.host in ("localhost", "::1") else each.host
            found.setdefault((host, each.port), each)
        return tuple(found.values())

    def _exporters(self) -> Iterable[Target]:
        for kind in KINDS:
            rules = mapping(kind)
            if rules.here and any((self._root / name.lstrip("/")).exists() for name in rules.here):
                yield Target(False, _LOOPBACK, rules.port, rules.path, kind, given=False)

    def _engines(self) -> Iterable[Target]:
        processes = self._processes or shared_processes()
        servers = [each for each in processes.current() if each.role == "api_server"]
        for port, server in sorted(listening_ports(servers, processes.proc).items()):
            if self._chosen(port, processes.proc, server.pid):
                yield Target(False, _LOOPBACK, port, "/metrics", given=False)

    def _chosen(self, port: int, proc: Path, pid: int) -> bool:
        """Return whether the server was given this port, or took one that the kernel gives to nobody."""
        low, high = _kernels_ports(proc)
        return not low <= port <= high or str(port) in _words(proc / str(pid) / "cmdline")


def _kernels_ports(proc: Path) -> tuple[int, int]:
    """Return the range of ports that the kernel gives to whoever does not choose."""
    try:
        low, high = (proc / "sys/net/ipv4/ip_local_port_range").read_text().split()
        return int(low), int(high)
    except (OSError, ValueError):
        return 32768, 60999


def _words(cmdline: Path) -> frozenset[str]:
    """Return the words of a command line, `--port=1` as two."""
    try:
        return frozenset(cmdline.read_text("utf-8", "replace").replace("=", "\0").split("\0"))
    except OSError:
        return frozenset()


@cache
def shared_endpoints() -> Endpoints:
    """Return the ones of this process, to which the command line and the settings give pages."""
    return Endpoints()
