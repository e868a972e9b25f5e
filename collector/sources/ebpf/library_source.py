"""What the sources that probe a library have in common: whom they watch, and the series of each process."""

import time
from collections.abc import Mapping
from pathlib import Path

from otel_attrib.collector.agent.processes import EngineProcess, EngineProcesses, shared_processes
from otel_attrib.collector.agent.source import Series, series
from otel_attrib.collector.sources.ebpf.cards import card_of, cards_by_nvml
from otel_attrib.collector.sources.ebpf.library_probes import Hook, LibraryProbes
from otel_attrib.collector.sources.ebpf.loader import Program

__all__ = ["LOOK_S", "WATCHED_MOST", "WatchedLibraries"]

WATCHED_MOST = 1024
"""How many processes are watched at most."""

LOOK_S = 5.0
"""How often processes and their libraries are looked up, in seconds."""

# To start NVML may take long, and a process begins to use a card some time after it has loaded the library.
_CARDS_S = 60.0


class WatchedLibraries:
    """The engine's processes, the probes on their libraries, and the series of each.

    The program's map `sums` has the pid first in its key.
    """

    def __init__(
        self,
        program: Program,
        hooks: Mapping[str, Mapping[str, Hook]],
        processes: EngineProcesses | None = None,
        proc: Path = Path("/proc"),
        look_s: float = LOOK_S,
    ) -> None:
        """Watch nobody before the first `look`."""
        self._program = program
        self._probes = LibraryProbes(program, hooks, proc)
        self._processes = processes or shared_processes()
        self._proc = proc
        self._look_s = look_s
        self._due = float("-inf")
        self._current: dict[int, EngineProcess] = {}
        self._cards: dict[int, str] = {}
        self._cards_due = 0.0
        self._series: dict[tuple[str, ...], Series] = {}

    @property
    def probes(self) -> int:
        """How many probes are placed."""
        return self._probes.probes

    def look(self) -> None:
        """Every few seconds, follow the processes as they are now and forget those that are gone."""
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + self._look_s
        self._current = {process.pid: process for process in self._processes.current()}
        self._forget(self._probes.follow(self._current))
        if self._cards.keys() != self._current.keys() or time.monotonic() >= self._cards_due:
            self._cards_due = time.monotonic() + _CARDS_S
            by_nvml = cards_by_nvml() if self._probes.probes else {}
            self._cards = {pid: card_of(pid, by_nvml, self._proc) for pid in self._current}

    def sums(self) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Return the sums of the watched processes: what one did in its last moments stays uncounted."""
        items = self._program.maps["sums"].items()
        return [(key, value) for key, value in items if key[0] in self._current]

    def series(self, key: str, pid: int, attribute: str, value: str, *, of_card: bool = False) -> Series:
        """Return the series of a watched process with one more attribute, and its card's `hw.id` if asked."""
        process = self._current[pid]
        device = self._cards.get(pid, "") if of_card else ""
        place = (key, str(pid), device, value)
        found = self._series.get(place)
        if found is None:
            about = {
                "process.pid": str(pid),
                "slatag.process.role": process.role,
                "slatag.engine.pid": str(process.engine),
                attribute: value,
            }
            found = self._series[place] = series(key, device, **about)
        return found

    def close(self) -> None:
        """Take the probes and the program away."""
        self._probes.close()
        self._program.close()

    def _forget(self, gone: frozenset[int]) -> None:
        if not gone:
            return
        sums = self._program.maps["sums"]
        for key, _ in sums.items():
            if key[0] in gone:
                sums.drop(*key)
        names = {str(pid) for pid in gone}
        self._series = {key: made for key, made in self._series.items() if key[1] not in names}
