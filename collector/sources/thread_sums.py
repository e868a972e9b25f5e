"""Numbers that the kernel keeps for each thread, summed over the threads of a process.

A thread that ends keeps what was last read of it, so the sum never falls. What a thread does between its
last reading and its end, and all of a thread that begins and ends between two readings, is not in it.
"""

import os
from collections.abc import Callable
from pathlib import Path

from otel_attrib.collector.sources.held_file import HeldFile

__all__ = ["ThreadSums"]

Numbers = tuple[int, ...]


class _Thread:
    __slots__ = ("file", "numbers", "raw")

    def __init__(self, file: HeldFile) -> None:
        self.file = file
        self.raw = b""
        self.numbers: Numbers = ()


class ThreadSums:
    """Sums `parse(task/<tid>/<name>)`, `width` numbers, over the threads of the process at `folder`.

    Where the threads may not be listed the process's own file stands for them: `main_only` is True, and the
    numbers are its first thread's alone.
    """

    def __init__(self, folder: Path, name: str, parse: Callable[[bytes], Numbers], width: int = 1) -> None:
        """Open every thread's file; OSError when the process is gone or tells nothing."""
        self._folder = folder
        self._name = name
        self._parse = parse
        self._threads: dict[str, _Thread] = {}
        self._ended: Numbers = (0,) * width
        self._links = -1
        self.main_only = False
        self._list()

    def read(self) -> Numbers:
        """Return the sums now; ProcessLookupError when no thread is left."""
        self._list()
        for thread in self._threads.values():
            self._read(thread)
        gone = [tid for tid, thread in self._threads.items() if thread.raw == b""]
        for tid in gone:
            self._end(tid)
        if not self._threads:
            raise ProcessLookupError(f"{self._folder} has no threads left")
        return self._sum()

    def close(self) -> None:
        """Close every file."""
        for thread in self._threads.values():
            thread.file.close()

    def _list(self) -> None:
        """Find threads that began; the number of links of the folder says whether any can have."""
        if self.main_only:
            return
        tasks = self._folder / "task"
        try:
            links = os.stat(tasks).st_nlink
            # File systems that do not count folders say 1.
            if links < 3 or links != self._links:
                self._links = links
                self._add(tasks, set(os.listdir(tasks)))
        except PermissionError:
            self.main_only = True
            self._threads[""] = _Thread(HeldFile(self._folder / self._name))

    def _add(self, tasks: Path, there: set[str]) -> None:
        for tid in there - self._threads.keys():
            try:
                self._threads[tid] = _Thread(HeldFile(tasks / tid / self._name))
            except (FileNotFoundError, ProcessLookupError):  # ended meanwhile
                continue

    def _read(self, thread: _Thread) -> None:
        try:
            raw = thread.file.read()
        except (FileNotFoundError, ProcessLookupError):
            raw = b""
        if raw and raw != thread.raw:
            thread.numbers = self._parse(raw)
        thread.raw = raw

    def _end(self, tid: str) -> None:
        thread = self._threads.pop(tid)
        thread.file.close()
        self._links = -1
        if thread.numbers:
            self._ended = _columns(self._ended, thread.numbers)

    def _sum(self) -> Numbers:
        return _columns(self._ended, *(thread.numbers for thread in self._threads.values()))


def _columns(*rows: Numbers) -> Numbers:
    return tuple(map(sum, zip(*rows, strict=True)))
