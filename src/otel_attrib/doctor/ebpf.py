"""eBPF: whether the scheduler, CUDA and TCP can be seen from the kernel, and what would make it so."""

from collections.abc import Iterator

from otel_attrib.collector.sources.ebpf.features import Needs, headers, lacks, may_load
from otel_attrib.doctor.check import Finding, Surroundings, check, ok, warn

_ALL = Needs(("sched:sched_switch",), uprobes=True, btf=True)


@check("eBPF")
def ebpf(around: Surroundings) -> Iterator[Finding]:
    """Everything that is missing at once, each with its remedy; without eBPF the /proc sources are read."""
    root = around.proc.parent
    missing = lacks(_ALL, root)
    if not missing:
        found = headers(root)
        own = found is None or found.own
        kind = "the kernel's own headers" if own else "headers of another kernel version (enough here)"
        yield ok("eBPF", f"can be used, with {kind}")
    elif not may_load(root):
        yield ok("eBPF", f"not used, the agent reads /proc instead: {missing[0]}")
    else:
        for lack in missing:
            yield warn("eBPF", f"not used, the agent reads /proc instead: {lack.what}", lack.remedy)
