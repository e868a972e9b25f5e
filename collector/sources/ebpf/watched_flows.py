"""Whom the sources that look at connections watch: processes, their ports, and tenants by address."""

import time
from collections.abc import Mapping
from pathlib import Path

from otel_attrib.collector.agent.processes import EngineProcess, EngineProcesses, shared_processes
from otel_attrib.collector.agent.source import Series, series
from otel_attrib.collector.sources.ebpf.engine_ports import listening_ports
from otel_attrib.collector.sources.ebpf.loader import Program
from otel_attrib.collector.sources.ebpf.tenants import Tenants
from otel_attrib.config import load

__all__ = ["DEFINES", "LOOK_S", "MAPS", "WatchedFlows"]

DEFINES = {"WATCHED_MOST": 1024, "PORTS_MOST": 256, "TENANTS_MOST": 4096}
"""Sizes of the maps, for the compiler."""

MAPS = {"watched": ("I", "B"), "ports": ("H", "B"), "tenants": ("I16s", "H")}
"""The maps that are filled here."""

LOOK_S = 5.0
"""How often processes and ports are looked up, in seconds."""


class WatchedFlows:
    """Fills a program's maps of processes, ports and tenants, and names what it counts."""

    def __init__(
        self,
        program: Program,
        processes: EngineProcesses | None = None,
        proc: Path = Path("/proc"),
        tenants: Mapping[str, str] | None = None,
        look_s: float = LOOK_S,
    ) -> None:
        """Watch nobody before the first `look`; tenants are those of the settings unless they are given."""
        self._program = program
        self._processes = processes or shared_processes()
        self._proc = proc
        self._tenants = Tenants(dict(load().agent_tenants) if tenants is None else tenants)
        self._look_s = look_s
        self._due = float("-inf")
        self._ports: dict[int, EngineProcess] = {}
        self._series: dict[tuple[str, int, int, int], Series] = {}
        for key, value in self._tenants.prefixes():
            program.maps["tenants"].put(key, value)

    def look(self) -> None:
        """Every few seconds, follow the processes and their ports as they are now."""
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + self._look_s
        current = self._processes.current()
        self._keep("watched", frozenset(process.pid for process in current))
        ports = listening_ports(current, self._proc)
        self._ports |= ports
        self._keep("ports", frozenset(ports))

    def series(self, key: str, port: int, tenant: int) -> Series:
        """Return the series of one port of an engine, and of one tenant's part of it where there is one."""
        engine = self._ports[port].engine
        place = (key, port, tenant, engine)
        found = self._series.get(place)
        if found is None:
            flow = {"slatag.flow": self._tenants.name(tenant)} if tenant else {}
            where = {"server.port": str(port), "slatag.engine.pid": str(engine)}
            found = self._series[place] = series(key, **where, **flow)
        return found

    def _keep(self, name: str, wanted: frozenset[int]) -> None:
        kept = self._program.maps[name]
        there = {key[0] for key, _ in kept.items()}
        for gone in there - wanted:
            kept.drop(gone)
        for new in wanted - there:
            kept.put((new,), (1,))
