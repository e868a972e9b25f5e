"""The agent's sources: which of them this machine has, and what would bring the others.

Each is opened as the agent would open it and closed at once; those of eBPF, which compile a program, have a
check of their own.
"""

from collections.abc import Iterator

from otel_attrib.collector.agent.catalogue import SOURCES
from otel_attrib.doctor.check import Finding, Surroundings, check, ok, warn

_EBPF = "ebpf."


@check("agent")
def agent(around: Surroundings) -> Iterator[Finding]:
    """Whether `up` reads this machine, and that the sources can be opened."""
    if not around.settings().agent:
        yield ok("agent", "off (OTEL_ATTRIB_AGENT): `up` does not read this machine's counters")
    try:
        from otel_attrib.collector.agent.agent import makers
        from otel_attrib.collector.agent.opening import opened
    except ImportError:
        yield warn("agent", "numpy is missing: no counters are read", "pip install 'otel-attrib[agent]'")
        return
    wanted = makers([name for name, place in SOURCES.items() if not place.startswith(_EBPF)])
    found = {name: opened(make) for name, make in wanted.items()}
    for source in found.values():
        if not isinstance(source, str):
            source.close()
    there = [name for name, source in found.items() if not isinstance(source, str)]
    if there:
        yield ok("agent", f"reads here: {', '.join(there)}")
    else:
        yield warn("agent", "no source has anything to read here", "otel-attrib agent --once says why")
    yield from (ok("agent", f"{name}: {why}") for name, why in found.items() if isinstance(why, str))
