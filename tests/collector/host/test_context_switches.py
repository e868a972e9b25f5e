"""Context switches by process and type."""

import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

from otel_attrib.collector.agent.processes import EngineProcesses
from otel_attrib.collector.sources.context_switches import ContextSwitches, parse_switches

SLEEPS = 211
# Sleeps so many times when told to, and says what getrusage counted while it did.
SLEEPER = f"""
import resource, sys, time
print("ready", flush=True)
while line := sys.stdin.readline():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    for _ in range({SLEEPS}):
        time.sleep(0.001)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before, flush=True)
"""


def test_recorded_sum(machine: Any, values: Callable[..., Any]) -> None:
    """Of each recorded process the sums over its threads are what awk added up in the same instant."""
    found = values(ContextSwitches(machine.proc, machine.processes()).read())
    mine = {(pid, kind): count for (_, kind, pid, _, _), count in found.items()}

    for pid, voluntary, involuntary in machine.rows("context_switches"):
        assert (int(voluntary), int(involuntary)) == (mine[pid, "voluntary"], mine[pid, "involuntary"])
    assert len(mine) == 2 * len(machine.rows("context_switches"))


def test_sleeps_are_counted(start: Callable[..., Any], values: Callable[..., Any]) -> None:
    """A thread that sleeps 211 times gives up its CPU as often as getrusage says, 211 times at least."""
    child = start(SLEEPER)
    switches = ContextSwitches(processes=EngineProcesses(pids=[child.pid], only=True))

    def voluntary() -> float:
        found: dict[tuple[str, ...], float] = values(switches.read())
        return next(n for (_, kind, *_), n in found.items() if kind == "voluntary")

    before = voluntary()
    child.stdin.write("go\n")
    child.stdin.flush()
    told = int(child.stdout.readline())
    # Waiting for the next line is one more, the one for the first line another.
    counted = voluntary() - before
    switches.close()

    assert told >= SLEEPS
    assert told <= counted <= told + 3


def test_own_line() -> None:
    """Of this thread the file says what getrusage says."""
    found = parse_switches(Path("/proc/thread-self/status").read_bytes())
    use = resource.getrusage(resource.RUSAGE_THREAD)

    assert found[0] <= use.ru_nvcsw <= found[0] + 5
    assert found[1] <= use.ru_nivcsw <= found[1] + 50


def test_status_without() -> None:
    """A status without such lines counts nothing."""
    assert (0, 0) == parse_switches(b"Name:\tx\nState:\tZ (zombie)\n")
