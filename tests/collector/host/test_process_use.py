"""CPU time and page faults by process."""

import resource
from collections.abc import Callable
from typing import Any

from otel_attrib.collector.agent.processes import EngineProcesses
from otel_attrib.collector.sources.process_use import ProcessUse

PAGES = 1009
# Touches so many new pages when told to, burns CPU, and says what getrusage counted.
TOUCHER = f"""
import mmap, resource, sys
pages = mmap.mmap(-1, {PAGES} * mmap.PAGESIZE)
if hasattr(mmap, "MADV_NOHUGEPAGE"):
    pages.madvise(mmap.MADV_NOHUGEPAGE)
print("ready", flush=True)
sys.stdin.readline()
for page in range({PAGES}):
    pages[page * mmap.PAGESIZE] = 1
sum(range(3_000_000))
use = resource.getrusage(resource.RUSAGE_SELF)
print(use.ru_minflt, use.ru_utime, use.ru_stime, flush=True)
sys.stdin.read()
"""


def test_recorded_faults(machine: Any, values: Callable[..., Any]) -> None:
    """Page faults of each recorded process are those that ps showed, and its CPU seconds as well."""
    found = values(ProcessUse(machine.proc, machine.processes()).read())
    faults = {(pid, kind): count for (key, kind, pid, *_), count in found.items() if key == "page_faults"}
    seconds: dict[str, float] = {}
    for (key, _, pid, *_), value in found.items():
        if key == "process_cpu":
            seconds[pid] = seconds.get(pid, 0.0) + value

    for pid, _, minor, major, _, used, _ in machine.rows("ps"):
        assert (float(minor), float(major)) == (faults[pid, "minor"], faults[pid, "major"])
        assert int(used) == int(seconds[pid])


def test_pages_touched(start: Callable[..., Any], values: Callable[..., Any]) -> None:
    """Touching 1009 new pages is that many minor faults and a few, as getrusage counts them."""
    child = start(TOUCHER)
    use = ProcessUse(processes=EngineProcesses(pids=[child.pid], only=True))
    before = values(use.read())
    child.stdin.write("\n")
    child.stdin.flush()
    faults, user, system = map(float, child.stdout.readline().split())
    after = values(use.read())
    use.close()
    minor = next(key for key in after if key[:2] == ("page_faults", "minor"))
    spent = sum(value for key, value in after.items() if key[0] == "process_cpu")

    assert PAGES <= after[minor] - before[minor] <= PAGES + 400
    assert faults - 5 <= after[minor] <= faults + 50
    assert abs(spent - (user + system)) <= 0.05


def test_ended_children_do_not_count(values: Callable[..., Any]) -> None:
    """What a process has used is its own: the faults of its children are not in it."""
    import os

    use = ProcessUse(processes=EngineProcesses(pids=[os.getpid()], only=True, own=0))
    found = values(use.read())
    use.close()
    own = resource.getrusage(resource.RUSAGE_SELF)
    minor = next(value for key, value in found.items() if key[:2] == ("page_faults", "minor"))

    assert own.ru_minflt - 200 <= minor <= own.ru_minflt
