"""CPU throttling of the engine's control groups."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.collector.agent.processes import EngineProcesses
from otel_attrib.collector.sources.cgroup_mounts import UNIFIED, folder_of, parse_memberships, parse_mounts
from otel_attrib.collector.sources.throttling import Throttling, parse_cpu_stat

MOUNT = "35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
BUSY = "print('ready', flush=True)\nwhile True: pass\n"


class Groups:
    """Control groups of version 2 as a test makes them, seen from a made machine."""

    def __init__(self, tree: Any, root: Path) -> None:
        """Mount the hierarchy; the topmost group is the machine."""
        self.tree = tree
        self.root = root
        (tree.proc / "self").mkdir(exist_ok=True)
        (tree.proc / "self" / "mountinfo").write_text(MOUNT)
        top = self.put("/", "usage_usec 1\n")
        (top / "cgroup.controllers").write_text("cpu\n")
        (top / "cgroup.type").unlink()

    def put(self, path: str, text: str) -> Path:
        """Write the `cpu.stat` of one group."""
        folder = self.root / f"sys/fs/cgroup/{path}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cgroup.type").write_text("domain\n")
        (folder / "cpu.stat").write_text(text)
        return folder

    def move(self, pid: int, path: str) -> None:
        """Put a process into a group."""
        (self.tree.proc / str(pid) / "cgroup").write_text(f"0::{path}\n")

    def source(self) -> Throttling:
        """Read this machine."""
        return Throttling(self.tree.proc, self.root, self.tree.processes())


def stat(periods: int, throttled: int, microseconds: int) -> str:
    """A `cpu.stat` of version 2."""
    return (
        f"usage_usec 9\nuser_usec 5\nsystem_usec 4\nnr_periods {periods}\n"
        f"nr_throttled {throttled}\nthrottled_usec {microseconds}\nnr_bursts 0\nburst_usec 0\n"
    )


@pytest.fixture
def groups(tree: Any, tmp_path: Path) -> Groups:
    """One engine of two processes."""
    tree.put(5, 1, "vllm serve m")
    tree.put(6, 5, "VLLM::EngineCore")
    return Groups(tree, tmp_path)


def test_pod(groups: Groups, values: Callable[..., Any]) -> None:
    """The container's group is read once for both processes, the pod's for its quota, the slice's not."""
    groups.put("kubepods", stat(0, 0, 0))
    groups.put("kubepods/pod1", stat(70, 3, 40_000))
    groups.put("kubepods/pod1/c1", stat(100, 11, 2_500_000))
    groups.move(5, "/kubepods/pod1/c1")
    groups.move(6, "/kubepods/pod1/c1")

    assert {
        ("cpu_throttled", "/kubepods/pod1/c1"): 2.5,
        ("cpu_throttled_periods", "/kubepods/pod1/c1"): 11.0,
        ("cpu_throttled", "/kubepods/pod1"): 0.04,
        ("cpu_throttled_periods", "/kubepods/pod1"): 3.0,
    } == values(groups.source().read())


def test_no_quota_is_no_throttling(groups: Groups, values: Callable[..., Any]) -> None:
    """An engine in a group without a quota has been throttled for nought seconds: a reading."""
    groups.put("a", stat(0, 0, 0))
    groups.move(5, "/a")
    groups.move(6, "/a")

    assert {("cpu_throttled", "/a"): 0.0, ("cpu_throttled_periods", "/a"): 0.0} == values(
        groups.source().read()
    )


def test_machine_tells_nothing(groups: Groups, values: Callable[..., Any]) -> None:
    """In version 2's topmost group there is no such number: it is absent, not nought."""
    groups.move(5, "/")
    groups.move(6, "/")

    assert {} == values(groups.source().read())


def test_process_moves(groups: Groups, values: Callable[..., Any]) -> None:
    """A process that is moved is followed; the group that it left, once gone, costs nothing."""
    groups.move(5, "/")
    groups.move(6, "/")
    source = groups.source()
    first = values(source.read())
    folder = groups.put("quota", stat(10, 9, 500_000))
    groups.move(6, "/quota")
    second = values(source.read())
    groups.move(6, "/")
    third = values(source.read())
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()

    assert ({}, 0.5, {}) == (first, second["cpu_throttled", "/quota"], third)
    assert {} == values(source.read())


def test_group_vanishes_first(groups: Groups, values: Callable[..., Any]) -> None:
    """A group that is gone while its process is still said to be in it gives nothing and breaks nothing."""
    folder = groups.put("quota", stat(10, 9, 500_000))
    groups.move(5, "/quota")
    groups.move(6, "/")
    source = groups.source()
    source.read()
    (folder / "cpu.stat").unlink()
    source.close()

    assert {} == values(source.read())


def test_other_container(groups: Groups, values: Callable[..., Any]) -> None:
    """A group outside this process's namespace is read through the engine's own mounts."""
    groups.move(5, "/../b")
    folder = groups.tree.proc / "5"
    (folder / "mountinfo").write_text("9 8 0:30 /../b /sys/fs/cgroup ro - cgroup2 cgroup rw\n")
    inside = folder / "root" / "sys" / "fs" / "cgroup"
    inside.mkdir(parents=True)
    (inside / "cpu.stat").write_text(stat(5, 4, 1_000_000))
    groups.move(6, "/../b")
    groups.tree.remove(6)

    assert {("cpu_throttled", "/../b"): 1.0, ("cpu_throttled_periods", "/../b"): 4.0} == values(
        groups.source().read()
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (stat(3, 2, 1_500_000), (3, 2, 1.5)),
        ("nr_periods 3\nnr_throttled 2\nthrottled_time 1500000000\nnr_bursts 0\n", (3, 2, 1.5)),
        ("usage_usec 1\nuser_usec 1\nsystem_usec 0\n", None),
        ("", None),
    ],
    ids=["version 2", "version 1", "topmost group", "empty"],
)
def test_cpu_stat(text: str, expected: object) -> None:
    """Both versions give seconds; what tells nothing gives nothing."""
    assert expected == parse_cpu_stat(text.encode())


@pytest.fixture
def quota() -> Iterator[Path]:
    """A real group that may use a tenth of a CPU."""
    mounts = parse_mounts(Path("/proc/self/mountinfo").read_text())
    memberships = parse_memberships(Path("/proc/self/cgroup").read_text())
    place = folder_of("cpu", memberships, mounts) or folder_of(UNIFIED, memberships, mounts)
    if place is None or not os.access(place[0], os.W_OK):
        pytest.skip("no control group can be made here: needs root")
    folder = Path(place[0]) / f"otel-attrib-test-{os.getpid()}"
    try:
        folder.mkdir()
        if (folder / "cpu.cfs_quota_us").exists():
            (folder / "cpu.cfs_quota_us").write_text("10000")
        else:
            (folder / "cpu.max").write_text("10000 100000")
    except OSError as fault:
        if folder.exists():
            folder.rmdir()
        pytest.skip(f"no quota can be set here: {fault}")
    yield folder
    for _ in range(100):
        try:
            folder.rmdir()
            return
        except OSError:  # its process is still ending
            time.sleep(0.05)
    folder.rmdir()


def test_real_quota(quota: Path, start: Callable[..., Any], values: Callable[..., Any]) -> None:
    """A busy process with a tenth of a CPU is throttled most of the time, as its group's own file says."""
    child = start(BUSY)
    (quota / "cgroup.procs").write_text(str(child.pid))
    throttling = Throttling(processes=EngineProcesses(pids=[child.pid], only=True))

    def look() -> tuple[float, float]:
        found = values(throttling.read())
        mine = (
            value for (key, path), value in found.items() if key == "cpu_throttled" and quota.name in path
        )
        return next(mine), time.monotonic()

    first, began = look()
    time.sleep(1.5)
    low = parse_cpu_stat((quota / "cpu.stat").read_bytes())
    last, ended = look()
    high = parse_cpu_stat((quota / "cpu.stat").read_bytes())
    throttling.close()
    child.kill()
    child.wait()

    assert low is not None
    assert high is not None
    assert low[2] <= last <= high[2]
    assert 0.5 * (ended - began) <= last - first <= ended - began + 0.2
