"""A known workload that blocks exactly so many times, and the scheduler's programs loaded once."""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from otel_attrib.collector.agent.processes import EngineProcesses
from otel_attrib.collector.agent.source import Unavailable
from otel_attrib.collector.sources.ebpf.features import Needs, lacks
from otel_attrib.collector.sources.ebpf.sched import Sched

SPELLS = Path(__file__).parents[2] / "native/ebpf/spells.c"


@pytest.fixture(scope="session")
def kernel() -> None:
    """Skip, naming what is missing, where no BPF program can run."""
    missing = lacks(Needs(("sched:sched_switch",), uprobes=True, btf=True))
    if missing:
        pytest.skip(f"eBPF: {missing[0]}")


@pytest.fixture(scope="session")
def spells(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workload as a program."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is missing")
    program = tmp_path_factory.mktemp("native") / "spells"
    subprocess.run(["gcc", "-O2", "-pthread", "-o", program, SPELLS], check=True)
    return program


@dataclass
class Workload:
    """One run of it, waiting to be told to begin."""

    process: "subprocess.Popen[str]"

    @property
    def pid(self) -> int:
        """Its pid."""
        return self.process.pid

    def line(self) -> str:
        """Its next line."""
        assert self.process.stdout
        return self.process.stdout.readline()

    def go(self) -> None:
        """Let it go on and wait until it is done and blocked again."""
        assert self.process.stdin
        self.process.stdin.write("g")
        self.process.stdin.flush()
        assert self.line() == "done\n"
        self.settle()

    def blocked(self) -> int:
        """How often its first thread has blocked so far, as the kernel counts it."""
        found = re.search(r"\nvoluntary_ctxt_switches:\s*(\d+)", Path(f"/proc/{self.pid}/status").read_text())
        assert found
        return int(found[1])

    def settle(self) -> None:
        """Wait until its first thread is blocked."""
        while Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] != "S":
            time.sleep(0.001)

    def end(self) -> None:
        """Let it end."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(10)


@pytest.fixture
def start(spells: Path) -> Iterator[Callable[..., Workload]]:
    """Start the workload: `start("sleep", 997)`."""
    running: list[Workload] = []

    def begin(*words: object) -> Workload:
        process = subprocess.Popen(
            [spells, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        running.append(Workload(process))
        assert running[-1].line() == "ready\n"
        running[-1].settle()
        return running[-1]

    yield begin
    for each in running:
        each.process.kill()
        each.process.wait()
        for pipe in (each.process.stdin, each.process.stdout):
            if pipe:
                with suppress(OSError):
                    pipe.close()


@dataclass
class Watch:
    """The source over processes of the test's choice."""

    finder: EngineProcesses
    source: Sched
    times_ns: list[int]
    """When the kernel's maps were read: the last is of the last `read`."""

    def only(self, *pids: int) -> None:
        """Watch these from now on and no others."""
        self.finder.watch([], only=True)
        self.read()
        self.finder.watch(pids, only=True)
        self.read()

    def unseen(self) -> int:
        """How many switches the kernel did not tell so far."""
        found = self.source.program.maps["lost"].get(2)
        assert found
        return int(found[0])

    def read(self) -> dict[tuple[str, str], float]:
        """Return (counter, reason) → value of the watched processes, summed."""
        found: dict[tuple[str, str], float] = {}
        for series, value in self.source.read():
            key = series.counter.key, dict(series.attributes).get("slatag.off_cpu.reason", "")
            found[key] = found.get(key, 0.0) + value
        return found


@pytest.fixture(scope="session", params=[True, False], ids=["registers", "system calls"])
def watch(request: pytest.FixtureRequest, kernel: None) -> Iterator[Watch]:
    """The scheduler's programs, in both ways of knowing the system call."""
    finder = EngineProcesses(pids=[], every_s=0.0, only=True)
    times_ns: list[int] = []

    def clock_ns() -> int:
        times_ns.append(time.monotonic_ns())
        return times_ns[-1]

    try:
        source = Sched(processes=finder, by_registers=request.param, claiming=False, clock_ns=clock_ns)
    except Unavailable as fault:
        pytest.skip(str(fault))
    yield Watch(finder, source, times_ns)
    source.close()


@pytest.fixture(scope="session")
def bpftrace(kernel: None) -> Callable[[str, Callable[[], None]], dict[str, int]]:
    """Run a bpftrace program while something happens and return its maps: the second opinion."""
    if not shutil.which("bpftrace"):
        pytest.skip("bpftrace is missing")
    return _bpftrace


def _bpftrace(program: str, while_running: Callable[[], None]) -> dict[str, int]:
    tracer = subprocess.Popen(
        ["bpftrace", "-f", "json", "-e", f'BEGIN {{ printf("on\\n") }} {program}'],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert tracer.stdout
    lines = iter(tracer.stdout.readline, "")
    begun = any('"on' in line for line in lines)
    if begun:
        while_running()
    tracer.send_signal(2)
    rest, words = tracer.communicate(timeout=30)
    if not begun:
        pytest.skip(f"bpftrace does not run here: {words.strip()[:200]}")
    maps: dict[str, int] = {}
    for line in rest.splitlines():
        if line.strip():
            told = json.loads(line)
            if told["type"] == "map":
                maps |= told["data"]
    return maps
