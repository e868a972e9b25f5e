"""Real faults of the CPU on a real vLLM: eBPF and schedstat see the same waits of the engine."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path

import pytest

from benchmarks.attribution.real.harm import Harm, cpu_quota, engine_cgroup
from otel_attrib.collector.agent.processes import EngineProcesses
from otel_attrib.collector.agent.source import Unavailable
from otel_attrib.collector.sources.ebpf.sched import Sched
from otel_attrib.collector.sources.thread_sums import ThreadSums
from otel_attrib.demo.arrivals import load, paced
from otel_attrib.demo.environment import server_environment
from otel_attrib.demo.process import free_port
from otel_attrib.demo.replay import replay
from otel_attrib.demo.server import engine_processes, start_vllm
from otel_attrib.demo.workload import plan

pytestmark = pytest.mark.vllm

REQUESTS, RATE = 45, 15.0


@contextmanager
def hog(processes: Mapping[str, int]) -> Iterator[None]:
    """The engine's threads and two busy processes share one processor."""
    with pinned(processes, 0), busy(0, 2):
        yield


@contextmanager
def nice(processes: Mapping[str, int]) -> Iterator[None]:
    """The engine's threads share one processor with one busy process, and yield to it."""
    tids = [int(tid) for pid in processes.values() for tid in os.listdir(f"/proc/{pid}/task")]
    for tid in tids:
        os.setpriority(os.PRIO_PROCESS, tid, 10)
    try:
        with pinned(processes, 0), busy(0, 1):
            yield
    finally:
        for tid in tids:
            os.setpriority(os.PRIO_PROCESS, tid, 0)


def quota(processes: Mapping[str, int]) -> AbstractContextManager[None]:
    """Their control group may use 45 % of one processor."""
    return cpu_quota(Harm(dict(processes), 0, engine_cgroup()))


@contextmanager
def pinned(processes: Mapping[str, int], cpu: int) -> Iterator[None]:
    """Keep every thread on one processor."""
    tids = [int(tid) for pid in processes.values() for tid in os.listdir(f"/proc/{pid}/task")]
    before = {tid: os.sched_getaffinity(tid) for tid in tids}
    for tid in tids:
        os.sched_setaffinity(tid, {cpu})
    try:
        yield
    finally:
        for tid, cpus in before.items():
            os.sched_setaffinity(tid, cpus)


@contextmanager
def busy(cpu: int, count: int) -> Iterator[None]:
    """Processes that compute on one processor."""
    code = f"import os\nos.sched_setaffinity(0, {{{cpu}}})\nwhile True: pass"
    running = [subprocess.Popen([sys.executable, "-c", code], start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for each in running:
            each.kill()
            each.wait()


class Waits:
    """Run-queue wait of the engine core by both ways, in s."""

    def __init__(self, source: Sched, pid: int) -> None:
        """Watch one process."""
        self._source = source
        self._pid = str(pid)
        self._sums = ThreadSums(Path(f"/proc/{pid}"), "schedstat", lambda raw: (int(raw.split()[1]),))

    def read(self) -> tuple[float, float]:
        """What eBPF says, what schedstat says."""
        said = {
            dict(series.attributes)["process.pid"]: value
            for series, value in self._source.read()
            if series.counter.key == "run_queue_wait"
        }
        return said[self._pid], self._sums.read()[0] / 1e9

    def close(self) -> None:
        """Close the files."""
        self._sums.close()


def test_both_see_a_fault_of_the_cpu_and_agree(vllm: Path, model: Path, tmp_path: Path) -> None:
    """A hog, a lower priority and a quota each lengthen the engine core's wait, by both within 10 %."""
    finder = EngineProcesses(pids=[], only=True, every_s=1.0)
    try:
        source = Sched(processes=finder, claiming=False)
    except Unavailable as fault:
        pytest.skip(str(fault))
    port = free_port()
    faults: dict[str, Callable[[Mapping[str, int]], AbstractContextManager[None]]] = {
        "none": lambda processes: nullcontext(),
        "hog": hog,
        "nice": nice,
        "quota": quota,
    }
    found: dict[str, tuple[float, float, float]] = {}
    with ExitStack() as stack:
        stack.callback(source.close)
        child = stack.enter_context(
            start_vllm(vllm, model, port, tmp_path / "vllm.log", server_environment())
        )
        processes = engine_processes(child.pid)
        (core,) = (pid for title, pid in processes.items() if "EngineCore" in title)
        finder.watch([child.pid], only=True)
        planned = plan(paced(load()[:REQUESTS], RATE, 3.0), seed=1, words_seed=1)
        asyncio.run(replay(planned, port, "warm-up"))
        waits = Waits(source, core)
        stack.callback(waits.close)
        for name, harm in faults.items():
            with harm(processes):
                before, began = waits.read(), time.monotonic()
                asyncio.run(replay(planned, port, name))
                after, took = waits.read(), time.monotonic() - began
            found[name] = after[0] - before[0], after[1] - before[1], took

    for name, (ebpf, schedstat, _) in found.items():
        assert ebpf == pytest.approx(schedstat, rel=0.1), name
    usual = found["none"][0] / found["none"][2]
    for name in ("hog", "nice", "quota"):
        assert found[name][0] / found[name][2] > max(0.1, 1.2 * usual), name
