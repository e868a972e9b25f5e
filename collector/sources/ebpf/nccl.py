"""What each process of the engine hands to NCCL: calls, bytes, and the host's time in the calls.

`nccl_bytes` is the call's `count` argument times the size of its type: what this rank hands in (all_gather,
send), gets back (reduce_scatter, recv) or both (all_reduce). `collective_bytes` is the size that tables of
collectives speak of: the same, but times the number of ranks for all_gather and reduce_scatter, whose `count`
is one rank's part. The number is learned when a communicator is made or asked for its size; for one that was
made before the agent looked, the argument `ranks` stands in, and without it the series is absent.

The work runs on the card after the call has returned, so the host's time is no `collective_time`. Calls
within a CUDA graph are seen when the graph is captured, not when it is replayed.
"""

from collections.abc import Iterator
from pathlib import Path

from otel_attrib.collector.agent.processes import EngineProcesses
from otel_attrib.collector.agent.source import Reading
from otel_attrib.collector.sources.ebpf.library_source import LOOK_S, WATCHED_MOST, WatchedLibraries
from otel_attrib.collector.sources.ebpf.loader import Tool, load
from otel_attrib.collector.sources.ebpf.nccl_calls import CALLS, DATA, DEFINES, HOOKS

__all__ = ["TOOL", "Nccl"]

_CALL = "slatag.nccl.call"
_FUNCTIONS = {
    name for hooks in HOOKS.values() for hook in hooks.values() for name in (hook.entry, hook.leave)
}

TOOL = Tool(
    Path(__file__).with_name("nccl.c"),
    maps={"watched": ("I", "B"), "sums": ("II", "QQQQQ")},
    uprobes=tuple(sorted(_FUNCTIONS)),
)
"""What is loaded."""


class Nccl:
    """NCCL calls of the engine's processes, through probes on the library that they have loaded."""

    name = "nccl"
    every_s = 1.0

    def __init__(
        self,
        processes: EngineProcesses | None = None,
        proc: Path = Path("/proc"),
        ranks: int | None = None,
        look_s: float = LOOK_S,
    ) -> None:
        """Load the program; `ranks` is the size of communicators that were made before."""
        self._ranks = ranks
        program = load(TOOL, {**DEFINES, "WATCHED_MOST": WATCHED_MOST})
        self._watched = WatchedLibraries(program, HOOKS, processes, proc, look_s)

    def read(self) -> Iterator[Reading]:
        """Give the totals of every watched process since it was first watched."""
        self._watched.look()
        of = self._watched.series
        for (pid, call), (count, moved, whole, unknown, ns) in self._watched.sums():
            name = CALLS[call]
            yield of("nccl_calls", pid, _CALL, name), float(count)
            yield of("nccl_call_time", pid, _CALL, name), ns / 1e9
            if name not in DATA:
                continue
            yield of("nccl_bytes", pid, _CALL, name), float(moved)
            if self._ranks or not unknown:
                size = whole + unknown * (self._ranks or 0)
                yield of("collective_bytes", pid, _CALL, name, of_card=True), float(size)

    def close(self) -> None:
        """Take the probes and the program away."""
        self._watched.close()
