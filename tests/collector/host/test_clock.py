"""How far the clock may be off."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.collector.agent.source import Unavailable
from otel_attrib.collector.sources.clock import Clock, KernelClock, read_kernel_clock

ASK = """
#include <stdio.h>
#include <sys/timex.h>
int main(void) {
    struct timex t = {.modes = 0};
    int state = adjtimex(&t);
    printf("%d %ld %ld %d\\n", state, t.maxerror, t.esterror, t.status & STA_UNSYNC);
    return 0;
}
"""


def test_states(values: Callable[..., Any]) -> None:
    """Bound and estimate stand under the state that the kernel says; a change of state is another series."""
    told = [
        KernelClock(True, 0.0015, 0.0004),
        KernelClock(True, 0.0015, 0.0004),
        KernelClock(False, 16.0, 16.0),
    ]
    clock = Clock(iter(told).__next__)

    assert {
        ("clock_uncertainty", "synchronized"): 0.0015,
        ("clock_estimated_error", "synchronized"): 0.0004,
    } == values(clock.read())
    assert {
        ("clock_uncertainty", "unsynchronized"): 16.0,
        ("clock_estimated_error", "unsynchronized"): 16.0,
    } == values(clock.read())


def test_forbidden() -> None:
    """A sandbox that forbids the call is told of."""

    def refuse() -> KernelClock:
        raise PermissionError(1, "Operation not permitted")

    with pytest.raises(Unavailable, match="Operation not permitted"):
        Clock(refuse)


def test_as_the_c_library_says(tmp_path: Path) -> None:
    """A C program with the system's own <sys/timex.h> reads the same numbers in between."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler here")
    (tmp_path / "ask.c").write_text(ASK)
    subprocess.run([compiler, "ask.c", "-o", "ask"], cwd=tmp_path, check=True)
    before = read_kernel_clock()
    printed = subprocess.run([tmp_path / "ask"], capture_output=True, text=True, check=True).stdout
    after = read_kernel_clock()
    state, most, estimated, unsynchronized = map(int, printed.split())

    assert min(before.most, after.most) <= most / 1e6 <= max(before.most, after.most)
    assert estimated / 1e6 in (before.estimated, after.estimated)
    assert bool(unsynchronized) is not before.synchronized
    # TIME_ERROR, which the call returns for a clock that nobody keeps.
    assert before.synchronized or state == 5
