"""The budget sheds by levels, and a process ends with its last work done."""

import subprocess
import sys

import pytest

from otel_attrib.instrumentation.background import Budget


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        """Start at 0."""
        self.now = 0.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


def test_levels(capsys: pytest.CaptureFixture[str]) -> None:
    """More than its share for a window sheds child spans, then spans, said once; then all comes back."""
    clock = Clock()
    budget = Budget(0.05, clock)
    seen = []
    for spent in (0.1, 0.5, 0.5, 0.5, 0.2, 0.0, 0.0, 0.0):
        clock.now += Budget.WINDOW
        budget.spend(spent)
        seen.append((budget.level, budget.children, budget.spans))

    # 0.05 of 5 s is 0.25 s; a third of it is 0.083 s
    assert [0, 1, 2, 2, 2, 1, 0, 0] == [level for level, _, _ in seen]
    assert [(0, True, True), (1, False, True), (2, False, False)] == sorted(set(seen))
    said = "writing spans takes 10% of a core, more than OTEL_ATTRIB_BUDGET=0.05"
    assert [f"otel-attrib: {said}: {what} are shed" for what in ("child spans", "spans")] == (
        capsys.readouterr().err.splitlines()
    )


def test_a_burst_within_a_window_is_averaged() -> None:
    """What counts is the share over the window, not one busy tick."""
    clock = Clock()
    budget = Budget(0.05, clock)
    budget.spend(0.2)
    clock.now += Budget.WINDOW
    budget.spend(0.0)

    assert 0 == budget.level


def test_no_limit() -> None:
    """A share of 0 sheds nothing."""
    clock = Clock()
    budget = Budget(0.0, clock)
    clock.now += Budget.WINDOW
    budget.spend(100.0)

    assert budget.children and budget.spans


_ENDING = """
import multiprocessing, os, sys, time
from otel_attrib.instrumentation import background

def say(word):
    def work(): os.write(1, word)
    return work

def child():
    background.every_tick(say(b"t"))
    background.at_exit(say(b"e"))

if __name__ == "__main__":
    if sys.argv[1] == "main":
        child()
    else:
        process = multiprocessing.get_context(sys.argv[1]).Process(target=child)
        process.start(); process.join()
"""


@pytest.mark.parametrize("way", ["main", "spawn", "fork"])
def test_last_work_is_done(tmp_path: object, way: str) -> None:
    """However a process was started, at its end the ticks run once more and the endings after them."""
    script = f"{tmp_path}/ending.py"
    with open(script, "w") as file:
        file.write(_ENDING)

    done = subprocess.run([sys.executable, script, way], capture_output=True, text=True, timeout=60)

    assert 0 == done.returncode, done.stderr
    assert "te" == done.stdout[-2:]


_STUCK = """
import time
from otel_attrib.instrumentation import background
background.LAST_WORK = 0.3
background.at_exit(lambda: time.sleep(60))
background.every_tick(lambda: None)
"""


def test_an_ending_that_hangs_does_not_hold_the_process() -> None:
    """A collector that does not answer delays the server's exit by a bounded time."""
    done = subprocess.run([sys.executable, "-c", _STUCK], timeout=20)

    assert 0 == done.returncode
