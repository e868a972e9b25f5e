"""One daemon thread per process that does the shim's slow work, within a budget.

The engine's threads only append to queues; this thread wakes ten times a second. It measures its
own CPU time (and that of exporting): past `OTEL_ATTRIB_BUDGET` (a share of one core, default 0.1)
it sheds its work, first the child spans, then whole spans, and counts what it shed.
"""

import atexit
import os
import threading
from collections.abc import Callable
from multiprocessing import util
from time import monotonic, thread_time

from otel_attrib.instrumentation.shim import SHARE, guarded, say

__all__ = ["BUDGET", "Budget", "at_exit", "due", "every_tick"]

TICK = 0.1
LAST_WORK = 3.0
"""Seconds that the end of a process may wait for the last spans."""


class Budget:
    """Share of one core that the shim may use off the engine's threads, over windows of some seconds."""

    WINDOW = 5.0

    def __init__(self, share: float, clock: Callable[[], float] = monotonic) -> None:
        """Allow `share` of one core; 0 or less allows everything."""
        self.share = share
        self.clock = clock
        self.level = 0
        self._said = 0
        self._spent = 0.0
        self._since = clock()

    def spend(self, seconds: float) -> None:
        """Add CPU seconds; at the end of a window go a level up or down."""
        self._spent += seconds
        passed = self.clock() - self._since
        if passed < self.WINDOW:
            return
        used = self._spent / passed
        if self.share > 0 and used > self.share:
            self._shed(used)
        elif used < self.share / 3:
            self.level = max(self.level - 1, 0)
        self._spent = 0.0
        self._since = self.clock()

    def _shed(self, used: float) -> None:
        """Go a level up, and say so the first time."""
        self.level = min(self.level + 1, 2)
        if self.level > self._said:
            self._said = self.level
            what = "child spans" if self.level == 1 else "spans"
            say(
                f"writing spans takes {used:.0%} of a core, more than {SHARE}={self.share:g}: {what} are shed"
            )

    @property
    def children(self) -> bool:
        """Whether child spans still fit."""
        return self.level < 1

    @property
    def spans(self) -> bool:
        """Whether spans fit at all."""
        return self.level < 2


def _share() -> float:
    try:
        return float(os.environ.get(SHARE, "0.1"))
    except ValueError:
        return 0.1


BUDGET = Budget(_share())

_ticks: dict[Callable[[], None], Callable[[], None]] = {}
_endings: dict[Callable[[], None], Callable[[], None]] = {}
_last: dict[int, float] = {}
_lock = threading.Lock()
_thread: threading.Thread | None = None
_stop = threading.Event()


def every_tick(work: Callable[[], None]) -> None:
    """Call `work` ten times a second from now on, and once more when the process ends; again is no change."""
    if work not in _ticks:
        with _lock:
            _ticks[work] = guarded(f"background {work.__qualname__}", work)
            _start()


def at_exit(work: Callable[[], None]) -> None:
    """Call `work` when the process ends, after the last tick; again is no change."""
    _endings[work] = guarded(f"exit {work.__qualname__}", work)


def due(owner: object, seconds: float) -> bool:
    """Whether `seconds` have passed since this said yes to `owner`; always yes when the process ends."""
    now = monotonic()
    if not _stop.is_set() and now - _last.get(id(owner), 0.0) < seconds:
        return False
    _last[id(owner)] = now
    return True


def _start() -> None:
    global _thread
    if _thread is None:
        _thread = threading.Thread(target=_run, name="otel-attrib", daemon=True)
        _thread.start()
        atexit.register(_end)
        # A process started by multiprocessing runs its finalizers and skips atexit.
        util.Finalize(None, _end, exitpriority=10)


def _run() -> None:
    while not _stop.wait(TICK):
        before = thread_time()
        for work in list(_ticks.values()):
            work()
        BUDGET.spend(thread_time() - before)
    # Here, not in `_end`: no thread can be started any more when an interpreter shuts down.
    for work in [*_ticks.values(), *_endings.values()]:
        work()


def _end() -> None:
    """Let the thread do its last work, but do not hold the process for longer than `LAST_WORK`."""
    _stop.set()
    if _thread is not None:
        _thread.join(LAST_WORK)


def _forget() -> None:
    """A forked child has no thread; it starts its own with its first work."""
    global _thread
    _thread = None
    _ticks.clear()
    _endings.clear()
    _stop.clear()


os.register_at_fork(after_in_child=_forget)
