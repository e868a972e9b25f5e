"""CUDA probes against FAKE CUDA libraries (tests/native/cuda) that really run: counts, bytes and times."""

import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from otel_attrib.collector.agent.processes import EngineProcesses
from otel_attrib.collector.agent.source import Unavailable
from otel_attrib.collector.sources.ebpf.cuda import Cuda

NATIVE = Path(__file__).parents[2] / "native/cuda"
SPIN_S = 400e-6  # of every fake call
Number = TypeVar("Number", int, float)
CALL, WAY = "slatag.cuda.call", "slatag.copy.direction"


@dataclass
class Made:
    """What the program says it did: per kind, calls, bytes and seconds by its own clock."""

    kinds: list[tuple[str, str, int, int, float]]

    def calls(self) -> dict[str, int]:
        """Kind → calls."""
        return summed((call, times) for call, _, times, _, _ in self.kinds)

    def moved(self) -> dict[str, int]:
        """Direction → bytes."""
        return summed((way, moved) for _, way, _, moved, _ in self.kinds if way != "none")

    def seconds(self) -> dict[str, float]:
        """Kind → seconds by the caller's clock."""
        return summed((call, took) for call, _, _, _, took in self.kinds)


def summed(pairs: Iterable[tuple[str, Number]]) -> dict[str, Number]:
    """Add up what stands under one name."""
    found: dict[str, Number] = {}
    for name, value in pairs:
        found[name] = found[name] + value if name in found else value
    return found


@pytest.fixture(scope="module")
def program(kernel: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fake libraries and the program that calls them."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is missing")
    folder = tmp_path_factory.mktemp("cuda")
    for name, source, needs in (
        ("libcuda.so.1", "fake_libcuda.c", ()),
        ("libcudart.so.12", "fake_libcudart.c", ("-l:libcuda.so.1",)),
    ):
        shared = ("-shared", "-fPIC", f"-Wl,-soname,{name}", "-Wl,-rpath,$ORIGIN")
        subprocess.run(
            ["gcc", "-O2", *shared, "-o", folder / name, NATIVE / source, "-L", folder, *needs], check=True
        )
    libraries = ("-L", folder, "-l:libcudart.so.12", "-l:libcuda.so.1", "-Wl,-rpath,$ORIGIN")
    subprocess.run(
        ["gcc", "-O2", "-pthread", "-o", folder / "calls", NATIVE / "calls.c", *libraries], check=True
    )
    return folder / "calls"


@pytest.fixture(scope="module")
def probes() -> Iterator[tuple[EngineProcesses, Cuda]]:
    """The source, over processes of the test's choice."""
    finder = EngineProcesses(pids=[], every_s=0.0, only=True)
    try:
        source = Cuda(finder, look_s=0.0)
    except Unavailable as lack:
        pytest.skip(str(lack))
    yield finder, source
    source.close()


@pytest.fixture
def start(program: Path) -> Iterator[Callable[[], "subprocess.Popen[str]"]]:
    """Start the program: its libraries are loaded, no call is made yet."""
    running: list[subprocess.Popen[str]] = []

    def begin() -> "subprocess.Popen[str]":
        process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout and "ready\n" == process.stdout.readline()
        return process

    yield begin
    for process in running:
        process.kill()
        process.communicate()


def made_by(process: "subprocess.Popen[str]") -> Made:
    """Let it make its calls, and wait until all are made."""
    assert process.stdin and process.stdout
    process.stdin.write("\n")
    process.stdin.flush()
    kinds = []
    for line in iter(process.stdout.readline, "done\n"):
        call, way, times, moved, ns = line.split()
        kinds.append((call, way, int(times), int(moved), int(ns) / 1e9))
    return Made(kinds)


def readings(source: Cuda, key: str, attribute: str, pid: int) -> dict[str, float]:
    """Attribute's value → reading, of one counter and process."""
    return {
        about[attribute]: value
        for series, value in source.read()
        if series.counter.key == key and (about := dict(series.attributes))["process.pid"] == str(pid)
    }


def test_counts_and_bytes_are_exact(
    probes: tuple[EngineProcesses, Cuda], start: Callable[[], "subprocess.Popen[str]"]
) -> None:
    """Calls of runtime and driver from two threads are counted once each, with the bytes that were copied.

    A call that never returns (it is unwound past) is not counted and takes no other with it.
    """
    finder, source = probes
    process = start()
    finder.watch([process.pid], only=True)
    list(source.read())

    made = made_by(process)

    assert made.calls() == readings(source, "cuda_calls", CALL, process.pid)
    assert made.moved() == readings(source, "copy_bytes", WAY, process.pid)
    assert 17 * 1009 + 5 * 1013 + 19 * 6007 + 17 * 1033 == made.moved()["h2d"]


def test_times_agree_with_the_programs_clock(
    probes: tuple[EngineProcesses, Cuda], start: Callable[[], "subprocess.Popen[str]"]
) -> None:
    """Each call's time lies between what it spins and what its caller says; the sum is within 5 %."""
    finder, source = probes
    process = start()
    finder.watch([process.pid], only=True)
    list(source.read())

    made = made_by(process)

    seconds, least = made.seconds(), {call: times * SPIN_S for call, times in made.calls().items()}
    told = readings(source, "cuda_call_time", CALL, process.pid)
    assert [] == [call for call in told if not least[call] <= told[call] <= seconds[call]]
    assert sum(seconds.values()) == pytest.approx(sum(told.values()), rel=0.05)


def test_copy_time_is_of_synchronous_copies(
    probes: tuple[EngineProcesses, Cuda], start: Callable[[], "subprocess.Popen[str]"]
) -> None:
    """The time of copies by direction adds up to that of `memcpy`; what is handed over has none."""
    finder, source = probes
    process = start()
    finder.watch([process.pid], only=True)
    list(source.read())

    made_by(process)

    copied = readings(source, "copy_time", WAY, process.pid)
    assert {"h2d", "d2h", "d2d", "h2h", "unknown"} == set(copied)
    calls = readings(source, "cuda_call_time", CALL, process.pid)
    assert calls["memcpy"] == pytest.approx(sum(copied.values()), rel=1e-9)


def test_others_do_not_count(
    probes: tuple[EngineProcesses, Cuda], start: Callable[[], "subprocess.Popen[str]"]
) -> None:
    """A process with the same libraries that is not watched adds nothing."""
    finder, source = probes
    watched, other = start(), start()
    finder.watch([watched.pid], only=True)
    list(source.read())

    made_by(other)

    assert {} == readings(source, "cuda_calls", CALL, watched.pid)
    assert {} == readings(source, "cuda_calls", CALL, other.pid)


def test_probes_are_of_files(
    probes: tuple[EngineProcesses, Cuda], start: Callable[[], "subprocess.Popen[str]"]
) -> None:
    """One process or two with one file need the same probes; they wait for the next when all are gone."""
    finder, source = probes
    one, two = start(), start()
    placed = []
    for pids in ([one.pid], [one.pid, two.pid], [two.pid], []):
        finder.watch(pids, only=True)
        list(source.read())
        placed.append(source.probes)

    # Nine functions of the runtime and fifteen of the driver, on entry and return; the alias has none.
    assert [48, 48, 48, 48] == placed


def test_a_second_process_is_seen_as_the_first(
    probes: tuple[EngineProcesses, Cuda], start: Callable[[], "subprocess.Popen[str]"]
) -> None:
    """An engine that starts again, after all were gone, is counted from nothing; the old one is forgotten."""
    finder, source = probes
    pids = []
    for _ in range(2):
        process = start()
        finder.watch([process.pid], only=True)
        list(source.read())
        made = made_by(process)
        assert made.calls() == readings(source, "cuda_calls", CALL, process.pid)
        pids.append(process.pid)
        finder.watch([], only=True)
        assert [] == list(source.read())

    assert pids[0] != pids[1]
