"""What an engine's process tells the front end about one sequence, engine-neutral.

Times are CLOCK_MONOTONIC nanoseconds on the clock named `clock` (`clock.clock_id`), sums are
nanoseconds; -1 = not observed.
"""

from typing import NamedTuple

__all__ = ["First", "Last"]


class First(NamedTuple):
    """Up to the first token: in the engine's queue at `received`, token ids out of the worker at `done`."""

    clock: int
    replica: int
    received: int
    done: int
    kv: int
    prefill: int
    sample: int
    chunks: int
    step: int
    preemptions: int
    waiting_max: int
    kv_usage_max_ppm: int


class Last(NamedTuple):
    """After the first token: sums over the steps that served it, up to the last token's at `done`."""

    done: int
    forward: int
    sample: int
    output: int
    step: int
    batch_sum: int
    batch_steps: int
    preemptions: int
    waiting_max: int
    kv_usage_max_ppm: int
