"""Faults are on when it is said that they are on, and leave nothing behind."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from benchmarks.host_fault_switch import FAULTS, Engine, Fault, alternate, pin, switched


def cpu_ticks(pid: int) -> int:
    """User time of a process, in ticks."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])


def test_stretches_are_those_in_which_it_was_on() -> None:
    """Off first, then on and off by turns; the times said lie around the switches."""
    seen: list[tuple[str, int]] = []
    fault = Fault(lambda: seen.append(("on", time.time_ns())), lambda: seen.append(("off", time.time_ns())))
    began = time.time_ns()

    stretches = asyncio.run(alternate(fault, 3, 0.05))

    assert [what for what, _ in seen] == ["on", "off"] * 3
    for (start, end), (_, on), (_, off) in zip(stretches, seen[::2], seen[1::2], strict=True):
        assert start <= on < off <= end
    starts = [start for start, _ in stretches]
    ends = [end for _, end in stretches]
    assert all(start - end >= 0.05e9 for start, end in zip(starts, [began, *ends[:-1]], strict=True))


def test_hogs_compute_only_while_they_are_on(tmp_path: Path) -> None:
    """Asleep before and after (state T), at work in between, gone at the end."""
    cpu = max(os.sched_getaffinity(0))
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    before = set(children.read_text().split())
    with switched("hog", Engine(os.getpid(), cpu, tmp_path, 1.0)) as hog:
        pids = [int(pid) for pid in set(children.read_text().split()) - before]
        assert len(pids) == 2
        assert all(state_becomes(pid, "T") for pid in pids)
        hog.on()
        assert all(worked(pid) for pid in pids)
        hog.off()
        assert all(state_becomes(pid, "T") for pid in pids)
        used = [cpu_ticks(pid) for pid in pids]
        time.sleep(0.1)
        assert used == [cpu_ticks(pid) for pid in pids]
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def worked(pid: int) -> bool:
    """Whether a process has used its processor within some seconds."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if cpu_ticks(pid):
            return True
        time.sleep(0.02)
    return False


def state_becomes(pid: int, state: str) -> bool:
    """Whether a process gets into a state within some seconds."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == state:
            return True
        time.sleep(0.01)
    return False


def test_a_quota_is_the_group_s(tmp_path: Path) -> None:
    """A quarter of a processor is 25 ms of 100; off is no limit, as it is at the end."""
    limit = tmp_path / "cpu.max"
    limit.write_text("max 100000")
    with switched("quota", Engine(os.getpid(), 0, tmp_path, 0.25)) as quota:
        assert limit.read_text() == "max 100000"
        quota.on()
        assert limit.read_text() == "25000 100000"
    assert limit.read_text() == "max 100000"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: a priority is given back")
def test_a_priority_is_lower_only_while_it_is_on(tmp_path: Path) -> None:
    """The core has nice 19 while it is on, 0 before and after; the competitor is in its group."""
    cpu = max(os.sched_getaffinity(0))
    own = Engine(os.getpid(), cpu, tmp_path, 1.0)
    (tmp_path / "cgroup.procs").write_text("")
    with switched("nice", own) as nice:
        assert (tmp_path / "cgroup.procs").read_text().isdigit()
        assert os.getpriority(os.PRIO_PROCESS, 0) == 0
        nice.on()
        lowered = os.getpriority(os.PRIO_PROCESS, 0)
        nice.off()
        assert (lowered, os.getpriority(os.PRIO_PROCESS, 0)) == (19, 0)


def test_pinned_threads_stay() -> None:
    """Every thread of the process may run on one processor only."""
    before = os.sched_getaffinity(0)
    cpu = max(before)
    try:
        pin(os.getpid(), cpu)
        assert {frozenset(os.sched_getaffinity(int(t))) for t in os.listdir("/proc/self/task")} == {
            frozenset({cpu})
        }
    finally:
        for tid in os.listdir("/proc/self/task"):
            os.sched_setaffinity(int(tid), before)
    assert set(FAULTS) == {"hog", "quota", "nice"}
