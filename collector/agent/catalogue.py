"""Every source by name and the class that reads it, imported only where it is asked for."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final

from otel_attrib.collector.agent.source import Source

__all__ = ["SOURCES", "source_class"]

_HERE = "otel_attrib.collector.sources"

SOURCES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "sched": "ebpf.sched:Sched",
        "schedstat": "schedstat:Schedstat",
        "throttling": "throttling:Throttling",
        "pressure": "pressure:Pressure",
        "cpu": "cpu:Cpu",
        "process_use": "process_use:ProcessUse",
        "context_switches": "context_switches:ContextSwitches",
        "network": "network:Network",
        "tcp_connections": "tcp_connections:TcpConnections",
        "clock": "clock:Clock",
    }
)
"""Name → `module:Class` below `collector/sources/`, in the order in which they are started."""


def source_class(name: str) -> type[Source]:
    """Import the class of one source; KeyError for a name that is not in `SOURCES`."""
    module, _, attribute = SOURCES[name].partition(":")
    found: type[Source] = getattr(import_module(f"{_HERE}.{module}"), attribute)
    return found
