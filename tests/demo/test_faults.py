"""The harm that the demonstration does is real, stays where it was put, and ends."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from otel_attrib.demo.faults import cores_of, cpu_hog, small_cache
from otel_attrib.demo.server import ServerShape, engine_processes
from otel_attrib.errors import OtelAttribError


def cpu_ticks(pid: int) -> int:
    """User time of a process, in clock ticks."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])


def test_hog_burns_the_engines_cores_and_ends() -> None:
    """Two busy processes a core run on the victim's cores alone, and are gone afterwards."""
    core = min(os.sched_getaffinity(0))
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as victim:
        os.sched_setaffinity(victim.pid, {core})
        before = children()
        with cpu_hog({"VLLM::EngineCore": victim.pid}, 2) as count:
            hogs = children() - before
            deadline = time.monotonic() + 20
            while min(map(cpu_ticks, hogs)) < 5 and time.monotonic() < deadline:
                time.sleep(0.05)
            ticks = [cpu_ticks(pid) for pid in hogs]
            cores = [os.sched_getaffinity(pid) for pid in hogs]
        victim.communicate(b"\n")

    assert 2 == count == len(hogs)
    assert min(ticks) >= 5
    assert [{core}] * 2 == cores
    assert set() == hogs & children()


def children() -> set[int]:
    """Processes that this one started and that have not ended."""
    task = Path(f"/proc/{os.getpid()}/task")
    return {int(pid) for thread in task.iterdir() for pid in (thread / "children").read_text().split()}


def test_no_engine_no_hog() -> None:
    """Without an engine process there is nothing to put a neighbour beside."""
    with pytest.raises(OtelAttribError, match="no engine process"):
        cores_of({})


def test_small_cache_changes_the_cache_alone() -> None:
    """The restarted server differs in one option."""
    before, after = ServerShape(), small_cache(ServerShape(), 12)

    assert ["--num-gpu-blocks-override=12"] == [o for o in after.arguments() if o not in before.arguments()]


def test_engine_processes_are_found_by_title(tmp_path: Path) -> None:
    """Only titles of vLLM below the given process count, at any depth, whatever else is in a name."""
    tree = {
        10: (1, "python\0serve"),
        11: (10, "VLLM::EngineCore\0"),
        12: (11, "VLLM::Worker_TP0\0"),
        13: (10, "sh\0-c"),
        14: (1, "VLLM::EngineCore\0"),
    }
    for pid, (parent, title) in tree.items():
        folder = tmp_path / str(pid)
        folder.mkdir()
        (folder / "stat").write_text(f"{pid} (a) b) S {parent} 0 0")
        (folder / "cmdline").write_text(title)
    (tmp_path / "meminfo").touch()

    assert {"VLLM::EngineCore": 11, "VLLM::Worker_TP0": 12} == engine_processes(10, tmp_path)
