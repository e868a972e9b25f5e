"""Numbers that the kernel keeps for each thread, summed over the threads of a process.

A thread that ends keeps what was last read of it, so the sum never falls. What a thread does between its
last reading and its end, and all of a thread that begins and ends between two readings, is not in it.

An engine has a hundred threads of which few work. One whose numbers stayed the same for `RESTING` readings is
looked at only at every `RESTING`th from then on, until they change: the sum stays exact, but what such a
thread adds when it wakes may come that much later. A process's first thread, which does an engine's work,
never rests.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from otel_attrib.collector.sources.held_file import HeldFile

__all__ = ["RESTING", "ThreadSums"]

Numbers = tuple[int, ...]

RESTING: Final = 10


class _Thread:
    """One thread: its file, what it said last and how often it said the same."""

    __slots__ = ("file", "main", "name", "numbers", "raw", "same", "turn")

    def __init__(self, name: str, file: HeldFile, main: bool, turn: int, width: int) -> None:
        self.name = name
        self.file = file
        self.main = main
        self.turn = turn
        self.raw = b""
        self.numbers: Numbers = (0,) * width
        self.same = 0


class ThreadSums:
    """Sums `parse(task/<tid>/<name>)`, `width` numbers, over the threads of the process at `folder`.

    Where the threads may not be listed the process's own file stands for them: `main_only` is True, and the
    numbers are its first thread's alone. Threads rest if `let_rest`.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        parse: Callable[[bytes], Numbers],
        width: int = 1,
        let_rest: bool = False,
    ) -> None:
        """Open every thread's file; OSError when the process is gone or may not be read at all."""
        self._folder = folder
        self._tasks = folder / "task"
        self._name = name
        self._parse = parse
        self._let_rest = let_rest
        self._threads: dict[str, _Thread] = {}
        self._awake: list[_Thread] = []
        self._resting: list[list[_Thread]] = [[] for _ in range(RESTING)]
        self._round = 0
        self._sum: Numbers = (0,) * width
        self._links = -1
        self.main_only = False
        self._listing = self._open()
        try:
            self._list()
        except OSError:
            self.close()
            raise

    def read(self) -> Numbers:
        """Return the sums now; ProcessLookupError when no thread is left."""
        self._list()
        self._round = (self._round + 1) % RESTING
        due = self._awake + self._resting[self._round]
        self._awake, self._resting[self._round] = [], []
        for thread in due:
            self._read(thread)
        if not self._threads:
            raise ProcessLookupError(f"{self._folder} has no threads left")
        return self._sum

    def close(self) -> None:
        """Close every file."""
        for thread in self._threads.values():
            thread.file.close()
        self._threads.clear()
        if self._listing >= 0:
            os.close(self._listing)
            self._listing = -1

    def _open(self) -> int:
        """Hold the list of threads open: that is cheaper to ask, and never shows who has the pid next."""
        try:
            return os.open(self._tasks, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except PermissionError:
            self.main_only = True
            self._begin("", self._folder / self._name)
            return -1

    def _list(self) -> None:
        """Find threads that began; the number of links of the folder says whether any can have."""
        if self.main_only:
            return
        links = os.fstat(self._listing).st_nlink
        # File systems that do not count folders say 1.
        if links >= 3 and links == self._links:
            return
        self._links = links
        for name in set(os.listdir(self._listing)) - self._threads.keys():
            try:
                self._begin(name, self._tasks / name / self._name)
            except (FileNotFoundError, ProcessLookupError):  # ended meanwhile
                continue

    def _begin(self, name: str, path: Path) -> None:
        main = name in ("", self._folder.name)
        made = _Thread(name, HeldFile(path), main, len(self._threads) % RESTING, len(self._sum))
        self._threads[name] = made
        self._awake.append(made)

    def _read(self, thread: _Thread) -> None:
        try:
            raw = thread.file.read()
        except (FileNotFoundError, ProcessLookupError):
            self._end(thread)
            return
        if raw == thread.raw:
            thread.same += 1
        else:
            numbers = self._parse(raw)
            self._sum = tuple(
                total + now - before
                for total, now, before in zip(self._sum, numbers, thread.numbers, strict=True)
            )
            thread.raw, thread.numbers, thread.same = raw, numbers, 0
        rests = self._let_rest and thread.same >= RESTING and not thread.main
        (self._resting[thread.turn] if rests else self._awake).append(thread)

    def _end(self, thread: _Thread) -> None:
        """Let go of a thread, with what it added; another may have its number by now."""
        del self._threads[thread.name]
        thread.file.close()
        self._links = -1
