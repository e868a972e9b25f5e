"""Keeps one program's probes on every library file that the watched processes have loaded.

A probe belongs to a file, so that workers that start later are seen from their first call; what other
processes do with the same file is left out in the kernel, at the cost of the trap. Of the functions, those
that a file lacks are left out, and those at one address (an alias) are probed once. The probe of the
return is placed first: a call that is met on entry is always met when it returns.

Probes on a file that nobody has loaded any more cost nothing and stay, for an engine that starts again:
taking one away waits for the kernel, 0.1 s on some. Only those of more than a few such files are taken
away.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from otel_attrib.collector.sources.ebpf.attach import attach_uprobe
from otel_attrib.collector.sources.ebpf.elf import function_offsets
from otel_attrib.collector.sources.ebpf.loader import Program
from otel_attrib.collector.sources.ebpf.mapped_libraries import library_name, mapped_libraries

__all__ = ["Hook", "LibraryProbes"]

_IDLE_FILES = 8

_Identity = tuple[int, int]
_Place = Callable[..., int]


@dataclass(frozen=True, slots=True)
class Hook:
    """Which programs run where a function begins and where it returns."""

    entry: str
    leave: str


class LibraryProbes:
    """The probes of one program; `follow` brings them up to date."""

    def __init__(
        self,
        program: Program,
        hooks: Mapping[str, Mapping[str, Hook]],
        proc: Path = Path("/proc"),
        place: _Place = attach_uprobe,
    ) -> None:
        """Watch nothing yet; `hooks` names the functions by the stem of their library (`libcudart`)."""
        self._program = program
        self._hooks = [(library_name(stem), functions) for stem, functions in hooks.items()]
        self._proc = proc
        self._place = place
        self._watched: frozenset[int] = frozenset()
        self._files: dict[_Identity, list[int]] = {}

    @property
    def probes(self) -> int:
        """How many probes are placed."""
        return sum(map(len, self._files.values()))

    def follow(self, pids: Iterable[int]) -> frozenset[int]:
        """Watch these processes and no others; return those that are watched no more."""
        now = frozenset(pids)
        watched = self._program.maps["watched"]
        gone = self._watched - now
        for pid in gone:
            watched.drop(pid)
        for pid in now - self._watched:
            watched.put((pid,), (1,))
        self._watched = now
        self._place_all(dict(self._mapped()))
        return gone

    def close(self) -> None:
        """Take every probe away."""
        for identity in list(self._files):
            self._remove(identity)

    def _mapped(self) -> Iterator[tuple[_Identity, tuple[Path, Mapping[str, Hook]]]]:
        """Each file once, whatever path it is seen under."""
        for pid in sorted(self._watched):
            for name, functions in self._hooks:
                for path in mapped_libraries(pid, name, self._proc):
                    try:
                        status = path.stat()
                    except OSError:  # the process has ended
                        continue
                    yield (status.st_dev, status.st_ino), (path, functions)

    def _place_all(self, mapped: dict[_Identity, tuple[Path, Mapping[str, Hook]]]) -> None:
        idle = [identity for identity in self._files if identity not in mapped]
        for identity in idle[: max(0, len(idle) - _IDLE_FILES)]:
            self._remove(identity)
        for identity, (path, functions) in mapped.items():
            if identity not in self._files:
                self._files[identity] = self._place_on(path, functions)

    def _remove(self, identity: _Identity) -> None:
        for probe in self._files.pop(identity):
            os.close(probe)

    def _place_on(self, path: Path, functions: Mapping[str, Hook]) -> list[int]:
        """Place what can be; a file that is no library, or is gone meanwhile, carries no probes."""
        try:
            offsets = function_offsets(path, functions)
        except (OSError, ValueError):
            return []
        probes: list[int] = []
        for offset, symbol in {offset: symbol for symbol, offset in offsets.items()}.items():
            hook = functions[symbol]
            leave = self._one(path, offset, hook.leave, True)
            if leave is None:
                continue
            entry = self._one(path, offset, hook.entry, False)
            probes += [leave] if entry is None else [leave, entry]
        return probes

    def _one(self, path: Path, offset: int, function: str, at_return: bool) -> int | None:
        try:
            return self._place(path, offset, self._program.functions[function], at_return=at_return)
        except OSError:  # an instruction that the kernel cannot step over
            return None
