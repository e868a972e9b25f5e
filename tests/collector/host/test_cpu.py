"""Use, steal and clock of the CPUs."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.collector.sources.cpu import Cpu, parse_cpu_times

HERTZ = os.sysconf("SC_CLK_TCK")


def write(proc: Path, *ticks: int) -> None:
    """A /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal, then guest."""
    (proc / "stat").write_text(f"cpu  {' '.join(map(str, ticks))} 77 0\ncpu0 1 2 3\nintr 5\n")


def test_use_and_steal(tree: Any, tmp_path: Path, values: Callable[..., Any]) -> None:
    """Of 1000 ticks 600 were idle and 100 waited for a disk: 30 % used; stolen ticks are seconds."""
    write(tree.proc, 1000, 0, 0, 5000, 0, 0, 0, 50)
    cpu = Cpu(tree.proc, tmp_path, tree.processes())
    first = values(cpu.read())
    write(tree.proc, 1100, 20, 80, 5600, 100, 10, 40, 100)
    second = values(cpu.read())

    assert {("cpu_steal",): 50 / HERTZ} == first
    assert 0.3 == pytest.approx(second["cpu_utilization",])
    assert 100 / HERTZ == second["cpu_steal",]


def test_nothing_between(tree: Any, tmp_path: Path, values: Callable[..., Any]) -> None:
    """Two readings within one tick tell nothing of use."""
    write(tree.proc, 1000, 0, 0, 5000, 0, 0, 0, 50)
    cpu = Cpu(tree.proc, tmp_path, tree.processes())
    cpu.read()

    assert {("cpu_steal",)} == values(cpu.read()).keys()


def test_clock_of_the_engines_cpus(tree: Any, tmp_path: Path, values: Callable[..., Any]) -> None:
    """The clock is the mean of the CPUs on which the engine last ran; others and unknown ones not."""
    write(tree.proc, 1, 1, 1, 1, 1, 1, 1, 1)
    for pid, title, cpu in ((5, "vllm serve m", 0), (6, "VLLM::EngineCore", 2), (7, "VLLM::Worker", 3)):
        tree.put(pid, 1, title, cpu=cpu)
    for cpu, kilohertz in ((0, "3000000\n"), (1, "800000\n"), (2, "2000000\n"), (3, "<unknown>\n")):
        folder = tmp_path / f"devices/system/cpu/cpu{cpu}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_cur_freq").write_text(kilohertz)

    assert 2.5e9 == values(Cpu(tree.proc, tmp_path, tree.processes()).read())["cpu_clock",]


def test_recorded(machine: Any, tmp_path: Path, values: Callable[..., Any]) -> None:
    """The recorded machine has no cpufreq and no earlier reading: steal alone is told."""
    found = values(Cpu(machine.proc, tmp_path, machine.processes()).read())
    words = (machine.proc / "stat").read_text().splitlines()[0].split()

    assert {("cpu_steal",): int(words[8]) / HERTZ} == found


def test_real_use(tree: Any, values: Callable[..., Any]) -> None:
    """With one CPU kept busy here, its share of all of them is used at least."""
    cpu = Cpu(processes=tree.processes())
    cpu.read()
    ran, end = time.process_time(), time.monotonic() + 0.5
    while time.monotonic() < end:
        pass
    share = (time.process_time() - ran) / 0.5 / (os.cpu_count() or 1)
    found = values(cpu.read())
    cpu.close()

    assert share - 0.1 <= found["cpu_utilization",] <= 1.0


@pytest.mark.parametrize("text", ["intr 1 2 3 4 5 6 7 8 9\n", "cpu 1 2 3\n"])
def test_other_text(text: str) -> None:
    """What is no /proc/stat is refused."""
    with pytest.raises(ValueError, match="no CPU times"):
        parse_cpu_times(text.encode())
