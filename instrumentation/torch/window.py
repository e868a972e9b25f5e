"""`torch.profiler` for one step in many, within a share of the time, turned into shares elsewhere.

A window opens before a step and closes with it; on a device it closes at the first later step that finds
the device past it, because nothing is ever waited for. Its cost is the time from before it opens until it
is closed, in which the step is slower, and the other thread's for reading it; the next window waits until
all of that is at most `share` of the time. There is none while the engine is loaded or a CUDA graph is
captured, nor beside somebody else's profile; each time it is counted why.
"""

import os
from collections import Counter, deque
from collections.abc import Callable
from importlib import import_module
from time import monotonic_ns, thread_time_ns, time_ns
from typing import Any, Final

from otel_attrib.instrumentation.torch.device import CudaEvents
from otel_attrib.instrumentation.torch.shares import Shares, device_shares, events_of, host_shares

__all__ = ["OUTCOMES", "ProfileWindows", "every", "share"]

EVERY = "OTEL_ATTRIB_TORCH_PROFILE_EVERY"
SHARE = "OTEL_ATTRIB_TORCH_PROFILE_SHARE"
OUTCOMES: Final = ("taken", "loaded", "capturing", "budget", "other_profiler", "unfinished", "failed")
MOST_OPEN = 32
"""Steps after which a window whose device is not done is given up."""


def every() -> int:
    """Return how many steps apart windows are asked for; 0, the default: none."""
    try:
        return max(0, int(os.environ.get(EVERY, "0")))
    except ValueError:
        return 0


def share() -> float:
    """Return the share of the time that windows may cost, 0.01 unless it is set."""
    try:
        return float(os.environ.get(SHARE, "0.01"))
    except ValueError:
        return 0.01


class ProfileWindows:
    """Windows of one thread's steps; `before` and `after` are for that thread, `take` is for another."""

    def __init__(
        self,
        steps: int,
        most: float = 0.01,
        events: CudaEvents | None = None,
        profiler: Callable[[], Any] | None = None,
        clock: Callable[[], int] = monotonic_ns,
    ) -> None:
        """Ask for a window every `steps` steps, `most` of the time at most; `events` where CUDA computes."""
        self.steps = steps
        self.most = most
        self.events = events
        self.profiler = profiler or (lambda: _profiler(events is not None))
        self.clock = clock
        self.outcomes: Counter[str] = Counter()
        self.spent_ns = 0
        self._step = 0
        self._open: Any = None
        self._opened = 0
        self._since = self._begun = 0
        self._passed: Any = None
        self._rest_until = 0
        self._results: deque[tuple[Any, int, int]] = deque(maxlen=16)

    def before(self, loaded: bool = False) -> None:
        """A step begins; `loaded`: the engine has so much to do that nothing may slow it down."""
        self._step += 1
        if self._open is not None:
            self._look()
        elif self.steps and self._step % self.steps == 0:
            reason = self._obstacle(loaded)
            if reason is None:
                self._begin()
            else:
                self.outcomes[reason] += 1

    def after(self) -> None:
        """The step is over for the host."""
        if self._open is None:
            return
        if self.events is None:
            self._end("taken")
        elif self._passed is None:
            self._passed = self.events.mark()

    def give_up(self) -> None:
        """Close an open window unread: somebody else wants the profiler."""
        if self._open is not None:
            self._end("other_profiler")

    def take(self) -> list[Shares]:
        """Return the shares of the windows that have closed since; reads events, on the calling thread."""
        found: list[Shares] = []
        before = thread_time_ns()
        while self._results:
            result, start, end = self._results.popleft()
            events = events_of(result)
            found += device_shares(events) if self.events is not None else host_shares(events, start, end)
        if found:
            self._charge(thread_time_ns() - before)
        return found

    def _obstacle(self, loaded: bool) -> str | None:
        if loaded:
            return "loaded"
        if self.events is not None and self.events.capturing():
            return "capturing"
        if self.clock() < self._rest_until:
            return "budget"
        return "other_profiler" if _somebody_profiles() else None

    def _begin(self) -> None:
        self._passed = None
        self._since = self.clock()
        window = self.profiler()
        window.__enter__()
        self._open = window
        self._opened = self._step
        self._begun = time_ns()  # the profiler's clock is the wall's

    def _look(self) -> None:
        """A window that waits for its device: close it once that is past the window's step."""
        if self._passed is not None and self._passed.query():
            self._end("taken")
        elif self._step - self._opened >= MOST_OPEN:
            self._end("unfinished")

    def _end(self, outcome: str) -> None:
        window, self._open = self._open, None
        end = time_ns()
        # A profile of a device would wait for it when it is closed.
        window.use_device = None
        try:
            window.__exit__(None, None, None)
        except BaseException:
            self.outcomes["failed"] += 1
            self._charge(self.clock() - self._since)
            raise
        self.outcomes[outcome] += 1
        if outcome == "taken":
            self._results.append((window.kineto_results, self._begun, end))
        self._charge(self.clock() - self._since)

    def _charge(self, ns: int) -> None:
        """Add to what windows cost; the next may open when it is the allowed share of the time since."""
        self.spent_ns += ns
        if self.most > 0:
            self._rest_until = max(self._rest_until, self.clock()) + int(ns / self.most)


def _profiler(device: bool) -> Any:
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else it prints two lines a window
    profile = import_module("torch.autograd.profiler").profile
    return profile(use_kineto=True, use_cpu=not device, use_device="cuda" if device else None)


def _somebody_profiles() -> bool:
    enabled = getattr(import_module("torch._C._autograd"), "_profiler_enabled", None)
    return enabled is not None and bool(enabled())
