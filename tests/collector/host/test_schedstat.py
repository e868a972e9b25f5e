"""Run-queue wait by process."""

import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.collector.agent.process_stat import TICKS_PER_SECOND, parse_stat
from otel_attrib.collector.agent.processes import EngineProcesses
from otel_attrib.collector.agent.source import Unavailable
from otel_attrib.collector.sources.schedstat import Schedstat, parse_schedstat
from otel_attrib.collector.sources.thread_sums import RESTING

# Two threads that never wait for anything but a CPU (hashing lets go of Python's lock), on one CPU.
BUSY = """
import hashlib, os, sys, threading
os.sched_setaffinity(0, {int(sys.argv[1])})
def work():
    while True:
        hashlib.pbkdf2_hmac("sha256", b"", b"", 20_000)
threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
[thread.start() for thread in threads]
print("ready", flush=True)
sys.stdin.read()
"""


def source(tree: Any) -> Schedstat:
    """A source over a made machine whose kernel keeps run-queue wait."""
    (tree.proc / "self").mkdir(exist_ok=True)
    (tree.proc / "self" / "schedstat").write_text("0 0 0\n")
    return Schedstat(tree.proc, tree.processes())


def test_recorded_sum(machine: Any, values: Callable[..., Any]) -> None:
    """Of each recorded process the sum over its threads is what awk added up in the same instant."""
    found = values(Schedstat(machine.proc, machine.processes()).read())

    assert {row[0]: int(row[1]) / 1e9 for row in machine.rows("run_queue_wait")} == {
        pid: seconds for (_, pid, _, _), seconds in found.items()
    }


def test_ended_threads_keep_their_wait(tree: Any, values: Callable[..., Any]) -> None:
    """Threads come and go; the total takes all of them in and never falls."""
    tree.put(5, 1, "VLLM::EngineCore")
    tree.threads(5, "schedstat", {5: "1 1000000000 1", 6: "1 2000000000 1"})
    waits = source(tree)
    seen = [sum(values(waits.read()).values())]
    tree.threads(5, "schedstat", {5: "1 1500000000 1"})
    seen.append(sum(values(waits.read()).values()))
    tree.threads(5, "schedstat", {5: "1 1500000000 1", 9: "1 250000000 1"})
    seen.append(sum(values(waits.read()).values()))
    waits.close()

    assert [3.0, 3.5, 3.75] == seen


def test_resting_threads(tree: Any, values: Callable[..., Any]) -> None:
    """A thread that did nothing ten times is looked at every tenth time; the first thread always is."""
    tree.put(5, 1, "VLLM::EngineCore")
    waits = source(tree)
    for _ in range(RESTING + 5):
        tree.threads(5, "schedstat", {5: "0 1 0", 6: "0 1 0"})
        waits.read()
    tree.threads(5, "schedstat", {5: "0 1000 0", 6: "0 1000000 0"})
    seen = [round(sum(values(waits.read()).values()) * 1e9) for _ in range(RESTING)]

    assert [1001, 1001000] == sorted(set(seen))
    assert 1001000 == seen[-1]
    tree.threads(5, "schedstat", {5: "0 1000 0", 6: "0 2000000 0"})
    assert 2001000 == round(sum(values(waits.read()).values()) * 1e9)


def test_each_process_by_role(tree: Any, values: Callable[..., Any]) -> None:
    """Each process is a series of its own, with its role and the pid at which the engine starts."""
    tree.put(5, 1, "vllm serve m")
    tree.put(6, 5, "VLLM::EngineCore")
    for pid, wait in ((5, 1), (6, 2)):
        tree.threads(pid, "schedstat", {pid: f"0 {wait} 0"})

    assert {
        ("run_queue_wait", "5", "5", "api_server"): 1e-9,
        ("run_queue_wait", "6", "5", "engine_core"): 2e-9,
    } == values(source(tree).read())


def test_series_are_made_once(tree: Any) -> None:
    """The same series objects come again at each reading."""
    tree.put(5, 1, "vllm serve m")
    tree.threads(5, "schedstat", {5: "0 1 0"})
    waits = source(tree)

    assert [made for made, _ in waits.read()][0] is [made for made, _ in waits.read()][0]


def test_process_that_ends(tree: Any, values: Callable[..., Any]) -> None:
    """A process that ended has no readings; its pid's next owner starts anew."""
    tree.put(5, 1, "vllm serve m", started=1)
    tree.threads(5, "schedstat", {5: "0 7000000000 0"})
    waits = source(tree)
    first = values(waits.read())
    tree.remove(5)
    gone = values(waits.read())
    tree.put(5, 1, "vllm serve m", started=2)
    tree.threads(5, "schedstat", {5: "0 1000000000 0"})

    assert ([7.0], {}, [1.0]) == (list(first.values()), gone, list(values(waits.read()).values()))


def test_one_process_refused(tree: Any, values: Callable[..., Any], caplog: Any, monkeypatch: Any) -> None:
    """Without permission for one process the others are read, and it is said once."""
    for pid in (5, 6):
        tree.put(pid, 1, "vllm serve m")
        tree.threads(pid, "schedstat", {pid: "0 1000000000 0"})
    allowed = os.open

    def refuse(path: Any, *more: Any, **named: Any) -> int:
        if "/5/" in str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return allowed(path, *more, **named)

    monkeypatch.setattr("otel_attrib.collector.sources.held_file.os.open", refuse)
    waits = source(tree)
    with caplog.at_level(logging.WARNING):
        found = [values(waits.read()) for _ in range(3)]

    assert [["6"]] * 3 == [[pid for _, pid, _, _ in one] for one in found]
    assert 1 == len(caplog.records)
    assert "run-queue wait of pid 5 (vllm serve) cannot be read: Permission denied" in caplog.text


def test_threads_refused(tree: Any, values: Callable[..., Any], caplog: Any, monkeypatch: Any) -> None:
    """Where threads may not be listed the process's own file is read, and that is said."""
    folder = tree.put(5, 1, "vllm serve m")
    tree.threads(5, "schedstat", {5: "0 1000000000 0"})
    (folder / "schedstat").write_text("0 3000000000 0\n")
    allowed = os.open

    def refuse(path: Any, *more: Any, **named: Any) -> int:
        if str(path).endswith("/5/task"):
            raise PermissionError(13, "Permission denied", str(path))
        return allowed(path, *more, **named)

    monkeypatch.setattr("otel_attrib.collector.sources.thread_sums.os.open", refuse)
    with caplog.at_level(logging.WARNING):
        waits = source(tree)
        found = [list(values(waits.read()).values()) for _ in range(2)]

    assert [[3.0], [3.0]] == found
    assert ["the threads of pid 5 may not be listed: its first thread stands for it"] == caplog.messages


def test_kernel_without(tmp_path: Path) -> None:
    """A kernel that keeps no such numbers is told of, with what would change it."""
    with pytest.raises(Unavailable, match="CONFIG_SCHEDSTATS"):
        Schedstat(tmp_path)


def test_line() -> None:
    """The wait is the second of the three numbers."""
    assert (234,) == parse_schedstat(b"123 234 345\n")


def test_two_busy_threads_on_one_cpu(start: Callable[..., Any], values: Callable[..., Any]) -> None:
    """Threads that never rest either run or wait for their CPU: wait = threads × time − time run."""
    child = start(BUSY, str(min(os.sched_getaffinity(0))))
    waits = Schedstat(processes=EngineProcesses(pids=[child.pid], only=True))

    def look() -> tuple[float, float, float]:
        stat = parse_stat(Path(f"/proc/{child.pid}/stat").read_bytes())
        ran = (stat.user_ticks + stat.system_ticks) / TICKS_PER_SECOND
        return time.monotonic(), sum(values(waits.read()).values()), ran

    look()
    before = look()
    time.sleep(2.0)
    after = look()
    waits.close()
    seconds, waited, ran = (b - a for a, b in zip(before, after, strict=True))

    # They alone would wait half of the time each; others on this CPU only add to it.
    assert waited >= 0.9 * seconds
    assert abs(waited - (2 * seconds - ran)) <= 0.1 * seconds


def test_own_threads_on_the_kernel(values: Callable[..., Any]) -> None:
    """Threads of a real process that end leave the total where it was; the files are let go of."""
    before = len(os.listdir("/proc/self/fd"))
    waits = Schedstat(processes=EngineProcesses(pids=[os.getpid()], only=True, own=0))
    stop = threading.Event()
    threads = [threading.Thread(target=stop.wait) for _ in range(23)]
    for thread in threads:
        thread.start()
    many = sum(values(waits.read()).values())
    held = len(os.listdir("/proc/self/fd")) - before
    stop.set()
    for thread in threads:
        thread.join()
    # Python is done with a thread a moment before the kernel is.
    for _ in range(200):
        fewer = sum(values(waits.read()).values())
        left = len(os.listdir("/proc/self/fd")) - before
        if left <= held - 23:
            break
        time.sleep(0.005)
    waits.close()

    assert held >= 24
    assert left <= held - 23
    assert fewer >= many
    assert before == len(os.listdir("/proc/self/fd"))
