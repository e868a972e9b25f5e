"""What each process of the engine asks of CUDA: copies with bytes and direction, launches, synchronisations.

Times are the host's, in the call. That of a synchronous copy is the copy's and is given as `copy_time`; an
asynchronous one only hands the copy over. What is not seen: copies within a CUDA graph (its launch is),
cudaMemcpy2D and batches, and calls into a statically linked runtime except through the driver.

Cost: 2 µs a call through the driver and 3 µs through the runtime, more where a function begins unfavourably
(docs/ebpf-probes.md has the figures), so an engine that launches thousands of kernels a step pays for it.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from otel_attrib.collector.agent.processes import EngineProcesses
from otel_attrib.collector.agent.source import Reading
from otel_attrib.collector.sources.ebpf.cuda_calls import CALLS, DEFINES, HOOKS, WAYS
from otel_attrib.collector.sources.ebpf.library_source import LOOK_S, WATCHED_MOST, WatchedLibraries
from otel_attrib.collector.sources.ebpf.loader import Tool, load

__all__ = ["TOOL", "Cuda"]

_CALL, _WAY = "slatag.cuda.call", "slatag.copy.direction"
_ENTRIES = {hook.entry for functions in HOOKS.values() for hook in functions.values()}

TOOL = Tool(
    Path(__file__).with_name("cuda.c"),
    maps={"watched": ("I", "B"), "sums": ("IHH", "QQQ")},
    uprobes=(*sorted(_ENTRIES), "leave"),
)
"""What is loaded."""


@dataclass(slots=True)
class _Sum:
    """What is added up of several directions or calls."""

    count: int = 0
    moved: int = 0
    ns: int = 0

    def add(self, count: int, moved: int, ns: int) -> None:
        self.count += count
        self.moved += moved
        self.ns += ns


class Cuda:
    """CUDA calls of the engine's processes, through probes on the libraries that they have loaded."""

    name = "cuda"
    every_s = 1.0

    def __init__(
        self, processes: EngineProcesses | None = None, proc: Path = Path("/proc"), look_s: float = LOOK_S
    ) -> None:
        """Load the program; probes follow as processes with CUDA appear."""
        program = load(TOOL, {**DEFINES, "WATCHED_MOST": WATCHED_MOST})
        self._watched = WatchedLibraries(program, HOOKS, processes, proc, look_s)

    @property
    def probes(self) -> int:
        """How many probes are placed."""
        return self._watched.probes

    def read(self) -> Iterator[Reading]:
        """Give the totals of every watched process since it was first watched."""
        self._watched.look()
        calls: defaultdict[tuple[int, int], _Sum] = defaultdict(_Sum)
        copies: defaultdict[tuple[int, int], _Sum] = defaultdict(_Sum)
        waited: defaultdict[tuple[int, int], _Sum] = defaultdict(_Sum)
        for (pid, call, way), sums in self._watched.sums():
            calls[pid, call].add(*sums)
            if way:
                copies[pid, way].add(*sums)
            if CALLS[call] == "memcpy":
                waited[pid, way].add(*sums)
        of = self._watched.series
        for (pid, call), told in calls.items():
            yield of("cuda_calls", pid, _CALL, CALLS[call]), float(told.count)
            yield of("cuda_call_time", pid, _CALL, CALLS[call]), told.ns / 1e9
        for (pid, way), told in copies.items():
            yield of("copy_bytes", pid, _WAY, WAYS[way], of_card=True), float(told.moved)
        for (pid, way), told in waited.items():
            yield of("copy_time", pid, _WAY, WAYS[way], of_card=True), told.ns / 1e9

    def close(self) -> None:
        """Take the probes and the program away."""
        self._watched.close()
