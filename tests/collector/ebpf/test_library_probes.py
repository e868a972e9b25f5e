"""Which files carry probes, over a recorded /proc with real libraries; the kernel's part is a FAKE."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from otel_attrib.collector.sources.ebpf.elf import function_offsets
from otel_attrib.collector.sources.ebpf.library_probes import Hook, LibraryProbes
from otel_attrib.collector.sources.ebpf.loader import Program

HOOKS = {"libc": {"getpid": Hook("on_entry", "on_return"), "no_such_function": Hook("on_entry", "on_return")}}


class FakeMap:
    """Keeps what is written to a map."""

    def __init__(self) -> None:
        """Empty."""
        self.keys: set[int] = set()

    def put(self, key: tuple[int], value: tuple[int]) -> None:
        """Add a key."""
        self.keys.add(key[0])

    def drop(self, key: int) -> None:
        """Remove a key."""
        self.keys.discard(key)


class FakeKernel:
    """Notes every probe that is placed; each is an open file, as a real one is."""

    def __init__(self) -> None:
        """Nothing is placed."""
        self.placed: list[tuple[str, int, int, bool]] = []
        self.open: dict[int, str] = {}

    def place(self, path: Path, offset: int, program: int, *, at_return: bool) -> int:
        """Place a probe."""
        self.placed.append((path.name, offset, program, at_return))
        probe = os.open(os.devnull, os.O_RDONLY)
        self.open[probe] = path.name
        return probe

    def there(self) -> set[str]:
        """Files whose probes are still open."""
        return {name for probe, name in self.open.items() if _is_open(probe)}


def _is_open(file: int) -> bool:
    try:
        os.fstat(file)
    except OSError:
        return False
    return True


@pytest.fixture
def libc() -> Path:
    """This process's own C library."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    found = {line.split()[-1] for line in lines if "/libc.so" in line or "/libc-" in line}
    if not found:
        pytest.skip("this Python has no libc.so loaded")
    return Path(found.pop())


@pytest.fixture
def probes(tmp_path: Path) -> Iterator[tuple[LibraryProbes, FakeKernel, FakeMap]]:
    """Probes over `tmp_path` as /proc."""
    kernel, watched = FakeKernel(), FakeMap()
    program = SimpleNamespace(maps={"watched": watched}, functions={"on_entry": 5, "on_return": 6})
    made = LibraryProbes(cast(Program, program), HOOKS, tmp_path, cast(Any, kernel.place))
    yield made, kernel, watched
    made.close()


def load_into(proc: Path, pid: int, library: Path, number: int) -> None:
    """Let a process of a recorded /proc have a copy of a library loaded, with a name of its own."""
    folder = proc / str(pid)
    folder.mkdir()
    name = f"libc.so.{number}"
    (folder / "maps").write_text(f"7f0000000000-7f0000001000 r-xp 00000000 fd:01 9 /{name}\n")
    (folder / "root").mkdir()
    shutil.copy(library, folder / "root" / name)


def test_return_first_and_only_what_exists(
    tmp_path: Path, libc: Path, probes: tuple[LibraryProbes, FakeKernel, FakeMap]
) -> None:
    """Each function that exists gets a probe of its return, then one of its entry."""
    made, kernel, watched = probes
    load_into(tmp_path, 7, libc, 6)
    at = function_offsets(libc, ["getpid"])["getpid"]

    made.follow([7])

    assert [("libc.so.6", at, 6, True), ("libc.so.6", at, 5, False)] == kernel.placed
    assert {7} == watched.keys
    assert {7} == made.follow([])
    assert set() == watched.keys


def test_few_files_stay_without_processes(
    tmp_path: Path, libc: Path, probes: tuple[LibraryProbes, FakeKernel, FakeMap]
) -> None:
    """Probes stay on the eight files that were loaded last; closing takes all away."""
    made, kernel, _ = probes
    for number in range(1, 12):
        load_into(tmp_path, number, libc, number)
        made.follow([number])
    made.follow([])

    assert {f"libc.so.{number}" for number in range(4, 12)} == kernel.there()
    made.close()
    assert set() == kernel.there()
