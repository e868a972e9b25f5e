"""Every source by name and the class that reads it, imported only where it is asked for."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Final

from otel_attrib.collector.agent.source import Source

__all__ = ["DEFAULT", "ON_REQUEST", "SOURCES", "chosen", "source_class"]

_HERE = "otel_attrib.collector.sources"

SOURCES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "nvml": "nvml:Nvml",
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
        "scrape": "scrape.source:Scrape",
        "tcp": "ebpf.tcp:Tcp",
        "tc_ingress": "ebpf.ingress:Ingress",
        "cuda": "ebpf.cuda:Cuda",
        "nccl": "ebpf.nccl:Nccl",
    }
)
"""Name → `module:Class` below `collector/sources/`, in the order in which they are started."""

ON_REQUEST: Final = frozenset({"cuda", "nccl", "tc_ingress"})
"""Sources that cost what they watch something at every call or packet: started only where they are named."""

DEFAULT: Final = "default"
"""Stands for all other sources among names: `default,cuda`."""


def chosen(names: Sequence[str]) -> tuple[str, ...]:
    """Return the sources that are meant: the default ones where none is named or `default` is among them."""
    usual = tuple(name for name in SOURCES if name not in ON_REQUEST)
    spread = (each for name in names or (DEFAULT,) for each in (usual if name == DEFAULT else (name,)))
    return tuple(dict.fromkeys(spread))


def source_class(name: str) -> type[Source]:
    """Import the class of one source; KeyError for a name that is not in `SOURCES`."""
    module, _, attribute = SOURCES[name].partition(":")
    found: type[Source] = getattr(import_module(f"{_HERE}.{module}"), attribute)
    return found
