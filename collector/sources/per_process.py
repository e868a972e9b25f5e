"""One reader for each engine process: made when it appears, closed when it is gone.

A process that may not be read costs its own readings alone, and is told of once.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from otel_attrib.collector.agent.processes import EngineProcess, EngineProcesses
from otel_attrib.collector.agent.source import Reading, Series, series

__all__ = ["PerProcess", "ProcessReader", "process_series"]

_log = logging.getLogger(__name__)

_Key = tuple[int, int, str]


class ProcessReader(Protocol):
    """Reads one process; any OSError of it concerns that process alone."""

    def read(self) -> Iterable[Reading]:
        """Read once."""
        ...

    def close(self) -> None:
        """Let go of what was opened."""
        ...


def process_series(key: str, process: EngineProcess, **attributes: str) -> Series:
    """Make a series of one process of an engine: pid, role, and the pid that its engine starts at."""
    return series(
        key,
        process__pid=str(process.pid),
        slatag__process__role=process.role,
        slatag__engine__pid=str(process.engine),
        **attributes,
    )


class PerProcess:
    """The readers of a source whose readings are of single processes; `what` names them in messages."""

    def __init__(
        self, what: str, processes: EngineProcesses, make: Callable[[EngineProcess], ProcessReader]
    ) -> None:
        """`make` opens a process; it may raise an OSError."""
        self._what = what
        self._processes = processes
        self._make = make
        self._current: tuple[EngineProcess, ...] = ()
        self._readers: dict[_Key, tuple[EngineProcess, ProcessReader]] = {}
        self._told: set[_Key] = set()

    def read(self) -> Iterator[Reading]:
        """Read every process that there is."""
        self._follow()
        for key, (process, reader) in list(self._readers.items()):
            try:
                yield from reader.read()
            except OSError as fault:
                self._lose(key, process, fault)

    def close(self) -> None:
        """Close every reader."""
        for _, reader in self._readers.values():
            reader.close()
        self._readers.clear()

    def _follow(self) -> None:
        current = self._processes.current()
        if current is self._current:
            return
        self._current = current
        there = {(process.pid, process.started_ticks, process.role): process for process in current}
        for key in [key for key in self._readers if key not in there]:
            self._readers.pop(key)[1].close()
        for key, process in there.items():
            try:
                if key not in self._readers:
                    self._readers[key] = (process, self._make(process))
            except OSError as fault:
                self._tell(key, process, fault)
        self._told &= there.keys()

    def _lose(self, key: _Key, process: EngineProcess, fault: OSError) -> None:
        """Leave out a process until the next look at the machine, which may bring it back."""
        self._readers.pop(key)[1].close()
        self._current = ()
        self._tell(key, process, fault)

    def _tell(self, key: _Key, process: EngineProcess, fault: OSError) -> None:
        if key in self._told or isinstance(fault, FileNotFoundError | ProcessLookupError):
            return
        self._told.add(key)
        _log.warning(
            "%s of pid %d (%s) cannot be read: %s; the others are read (run as its user, or as root)",
            self._what,
            process.pid,
            process.command,
            fault.strerror or fault,
        )
