"""NCCL probes against a FAKE NCCL (tests/native/nccl) that really runs: exact counts, bytes and times."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from otel_attrib.collector.agent.processes import EngineProcesses
from otel_attrib.collector.agent.source import Unavailable
from otel_attrib.collector.sources.ebpf.nccl import Nccl
from otel_attrib.collector.sources.ebpf.nccl_calls import DATA, DEFINES

NATIVE = Path(__file__).parents[2] / "native/nccl"
SPIN_S = 400e-6  # of every fake call

Start = Callable[..., "subprocess.Popen[str]"]
Table = dict[str, list[float]]


@pytest.fixture(scope="module")
def program(kernel: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fake library, under the name that wheels give it, and the program that calls it."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is missing")
    folder = tmp_path_factory.mktemp("nccl")
    shared = ("-shared", "-fPIC", "-Wl,-soname,libnccl.so.2")
    subprocess.run(
        ["gcc", "-O2", *shared, "-o", folder / "libnccl.so.2", NATIVE / "fake_libnccl.c"], check=True
    )
    libraries = ("-L", folder, "-l:libnccl.so.2", "-Wl,-rpath,$ORIGIN")
    subprocess.run(["gcc", "-O2", "-o", folder / "calls", NATIVE / "calls.c", *libraries], check=True)
    return folder / "calls"


@pytest.fixture(scope="module")
def probes() -> Iterator[tuple[EngineProcesses, Nccl]]:
    """The source, over processes of the test's choice."""
    finder = EngineProcesses(pids=[], every_s=0.0, only=True)
    try:
        source = Nccl(finder, look_s=0.0)
    except Unavailable as lack:
        pytest.skip(str(lack))
    yield finder, source
    source.close()


@pytest.fixture
def start(program: Path) -> Iterator[Start]:
    """Start the program: one communicator is made, nothing is called yet."""
    running: list[subprocess.Popen[str]] = []

    def begin(*words: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [program, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        running.append(process)
        assert process.stdout and "ready\n" == process.stdout.readline()
        return process

    yield begin
    for process in running:
        process.kill()
        process.communicate()


def made_by(process: "subprocess.Popen[str]") -> Table:
    """Let it make its calls; call → times, bytes handed in, bytes of the whole buffer, seconds."""
    assert process.stdin and process.stdout
    process.stdin.write("\n")
    process.stdin.flush()
    made: Table = {}
    for line in iter(process.stdout.readline, "done\n"):
        call, times, moved, whole, ns = line.split()
        row = made.setdefault(call, [0, 0, 0, 0.0])
        for column, value in enumerate((int(times), int(moved), int(whole), int(ns) / 1e9)):
            row[column] += value
    return made


def readings(source: Nccl, key: str, pid: int) -> dict[str, float]:
    """Call → reading, of one counter and process."""
    return {
        about["slatag.nccl.call"]: value
        for series, value in source.read()
        if series.counter.key == key and (about := dict(series.attributes))["process.pid"] == str(pid)
    }


def test_type_sizes() -> None:
    """Four bits a data type, in the order of `ncclDataType_t`: 1 1 4 4 8 8 2 4 8 2 1 1 bytes."""
    assert ("0x112842884411ULL", 12) == (DEFINES["TYPE_SIZES"], DEFINES["TYPES"])


def test_counts_and_bytes_are_exact(probes: tuple[EngineProcesses, Nccl], start: Start) -> None:
    """Every call is counted once with count × size of its type; one asked for its size is known."""
    finder, source = probes
    process = start("ask")
    finder.watch([process.pid], only=True)
    list(source.read())

    made = made_by(process)

    assert {call: row[0] for call, row in made.items()} == readings(source, "nccl_calls", process.pid)
    moved = {call: row[1] for call, row in made.items() if call in DATA}
    assert moved == readings(source, "nccl_bytes", process.pid)
    whole = {call: row[2] for call, row in made.items() if call in DATA}
    assert whole == readings(source, "collective_bytes", process.pid)
    assert 11 * 1019 * 2 * 3 + 19 * 1031 * 5 == whole["all_gather"]


def test_size_of_an_unknown_communicator(probes: tuple[EngineProcesses, Nccl], start: Start) -> None:
    """What needs a number of ranks that nobody saw is absent; everything else is there."""
    finder, source = probes
    process = start()
    finder.watch([process.pid], only=True)
    list(source.read())

    made = made_by(process)

    known = {call: row[2] for call, row in made.items() if call in DATA and call != "reduce_scatter"}
    assert known == readings(source, "collective_bytes", process.pid)
    assert made["reduce_scatter"][1] == readings(source, "nccl_bytes", process.pid)["reduce_scatter"]


def test_times_agree_with_the_programs_clock(probes: tuple[EngineProcesses, Nccl], start: Start) -> None:
    """Each call's time lies between what it spins and what its caller says; the sum is within 5 %."""
    finder, source = probes
    process = start()
    finder.watch([process.pid], only=True)
    list(source.read())

    made = made_by(process)

    told = readings(source, "nccl_call_time", process.pid)
    wrong = [call for call, row in made.items() if not row[0] * SPIN_S <= told[call] <= row[3]]
    assert [] == wrong
    assert sum(row[3] for row in made.values()) == pytest.approx(sum(told.values()), rel=0.05)
