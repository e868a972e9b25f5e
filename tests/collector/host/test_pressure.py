"""Stall time of the engine's group or of the machine."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.collector.agent.source import Unavailable
from otel_attrib.collector.sources.pressure import Pressure, parse_stall

RESOURCES = ("cpu", "memory", "io")


def line(microseconds: int) -> str:
    """A pressure file."""
    return (
        f"some avg10=1.00 avg60=0.50 avg300=0.10 total={microseconds}\n"
        f"full avg10=0.00 avg60=0.00 avg300=0.00 total={microseconds // 2}\n"
    )


def machine_pressure(tree: Any) -> None:
    """Let the made machine keep pressure: 1, 2 and 3 s."""
    (tree.proc / "pressure").mkdir()
    for number, name in enumerate(RESOURCES, 1):
        (tree.proc / "pressure" / name).write_text(line(number * 1_000_000))
    (tree.proc / "self").mkdir()
    (tree.proc / "self" / "mountinfo").write_text("35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")


def test_machine(tree: Any, tmp_path: Path, values: Callable[..., Any]) -> None:
    """Without an engine, or with one in the topmost group, it is the machine's."""
    machine_pressure(tree)
    pressure = Pressure(tree.proc, tmp_path, tree.processes())
    expected = {("cpu_pressure",): 1.0, ("memory_pressure",): 2.0, ("io_pressure",): 3.0}
    empty = values(pressure.read())
    folder = tree.put(5, 1, "vllm serve m")
    (folder / "cgroup").write_text("0::/\n")
    top = tmp_path / "sys/fs/cgroup"
    top.mkdir(parents=True)
    (top / "cpu.pressure").write_text(line(9_000_000))
    (top / "cgroup.controllers").write_text("cpu\n")

    assert expected == empty
    assert expected == values(pressure.read())


def test_own_group(tree: Any, tmp_path: Path, values: Callable[..., Any]) -> None:
    """An engine in a group of its own is told of by that group alone, by what the group keeps."""
    machine_pressure(tree)
    folder = tree.put(5, 1, "vllm serve m")
    (folder / "cgroup").write_text("0::/serving\n")
    group = tmp_path / "sys/fs/cgroup/serving"
    group.mkdir(parents=True)
    (group / "cgroup.type").write_text("domain\n")
    (group / "cpu.pressure").write_text(line(250_000))
    (group / "memory.pressure").write_text(line(0))

    assert {("cpu_pressure", "/serving"): 0.25, ("memory_pressure", "/serving"): 0.0} == values(
        Pressure(tree.proc, tmp_path, tree.processes()).read()
    )


def test_kernel_without(tmp_path: Path) -> None:
    """A kernel that keeps no pressure is told of, with what would change it."""
    with pytest.raises(Unavailable, match="psi=1"):
        Pressure(tmp_path)


def test_recorded(machine: Any, values: Callable[..., Any]) -> None:
    """The recorded machine's total is the number that stands at the end of its `some` line."""
    found = values(Pressure(machine.proc, machine.proc / "nowhere", machine.processes()).read())
    text = (machine.proc / "pressure" / "cpu").read_text()

    assert int(text.split("total=")[1].split()[0]) == round(found["cpu_pressure",] * 1e6)


def test_real_machine(tree: Any, values: Callable[..., Any]) -> None:
    """Here and now it lies between what the files say before and after."""
    files = [Path("/proc/pressure") / name for name in RESOURCES]
    try:
        before = [parse_stall(file.read_bytes()) for file in files]
    except OSError:
        pytest.skip("this kernel keeps no pressure")
    pressure = Pressure(processes=tree.processes())
    found = list(values(pressure.read()).values())
    pressure.close()
    after = [parse_stall(file.read_bytes()) for file in files]

    assert all(low <= value <= high for low, value, high in zip(before, found, after, strict=True))


def test_other_text() -> None:
    """What is no pressure is refused."""
    with pytest.raises(ValueError, match="no pressure"):
        parse_stall(b"full avg10=0.00 total=1\n")
