"""The clocks of the agent, in one object, so that an hour can pass in a second of a test."""

import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Clock"]


@dataclass(frozen=True, slots=True)
class Clock:
    """Wall time places a reading, steady time schedules it, thread time is what it cost."""

    wall_ns: Callable[[], int] = time.time_ns
    steady_s: Callable[[], float] = time.monotonic
    thread_s: Callable[[], float] = time.thread_time
