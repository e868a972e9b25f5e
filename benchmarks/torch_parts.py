"""What timing a step's parts costs a step, beside torch.profiler always on and beside nothing.

A step is a small decode on one thread: layers of products and two all-reduces each, over gloo with one rank,
so the calls are the real ones and nobody is waited for. The ways take turns, in blocks of steps; figures are
medians of the blocks' CPU time a step on the computing thread. Needs an interpreter with torch:

    PYTHONPATH=src ~/.cache/otel-attrib/vllm-0.32.0/bin/python benchmarks/torch_parts.py
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile

from otel_attrib.instrumentation.shim import Patches
from otel_attrib.instrumentation.torch.calls import watch_collectives
from otel_attrib.instrumentation.torch.parts import StepParts
from otel_attrib.instrumentation.torch.window import ProfileWindows

LAYERS = 8
HIDDEN = 256
STEPS = 40


class Decode:
    """The step that is measured."""

    def __init__(self) -> None:
        """Make small weights."""
        self.weights = [torch.randn(HIDDEN, HIDDEN) / HIDDEN**0.5 for _ in range(2 * LAYERS)]
        self.state = torch.randn(8, HIDDEN)

    def step(self) -> None:
        """One pass through the layers."""
        state = self.state
        for weight in self.weights:
            state = torch.nn.functional.silu(state @ weight)
            dist.all_reduce(state)


def nothing(model: Decode, _parts: StepParts) -> None:
    for _ in range(STEPS):
        model.step()


def parts_only(model: Decode, parts: StepParts) -> None:
    for _ in range(STEPS):
        parts.begin()
        with parts.part("forward"):
            model.step()
        parts.end()
    parts.settle()


class OwnTime:
    """A clock that stands still while another way has its turn, so that a share is one of its own time."""

    def __init__(self) -> None:
        """Start at zero."""
        self.past = self.since = 0

    def __call__(self) -> int:
        """Read it, in ns."""
        return self.past + time.monotonic_ns() - self.since

    def turn(self) -> None:
        """Go on from where it stood."""
        self.since = time.monotonic_ns()

    def rest(self) -> None:
        """Stand still."""
        self.past = self()


def windows_too(windows: ProfileWindows, clock: OwnTime) -> Callable[[Decode, StepParts], None]:
    def run(model: Decode, parts: StepParts) -> None:
        clock.turn()
        for _ in range(STEPS):
            windows.before()
            parts.begin()
            with parts.part("forward"):
                model.step()
            parts.end()
            windows.after()
        parts.settle()
        windows.take()
        clock.rest()

    return run


def profiler_always(model: Decode, _parts: StepParts) -> None:
    for _ in range(STEPS):
        with profile(activities=[ProfilerActivity.CPU]) as seen:
            model.step()
        seen.profiler.kineto_results.events()


@contextmanager
def watched(name: str) -> Iterator[StepParts]:
    """Parts, with the process groups' entry points wrapped where the way asks for it; not measured itself."""
    parts, patches = StepParts(), Patches()
    if name.startswith("parts"):
        watch_collectives(parts, patches)
    try:
        yield parts
    finally:
        patches.restore()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--blocks", type=int, default=15, help="blocks of 40 steps for each way")
    options.add_argument("--json", type=Path, help="also write the figures here")
    chosen = options.parse_args()
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
        clock = OwnTime()
        windows = ProfileWindows(20, most=0.01, clock=clock)
        ways = {
            "nothing": nothing,
            "parts": parts_only,
            "parts + windows (1 %)": windows_too(windows, clock),
            "torch.profiler always": profiler_always,
        }
        spent = measure(ways, chosen.blocks)
        dist.destroy_process_group()
    report(spent, windows, chosen.json)


def measure(ways: dict[str, Callable[[Decode, StepParts], None]], blocks: int) -> dict[str, list[float]]:
    model = Decode()
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for block in range(blocks + 1):
        for name, way in ways.items():
            with watched(name) as parts:
                before = time.thread_time_ns()
                way(model, parts)
                took = time.thread_time_ns() - before
            if block:  # the first warms up
                spent[name].append(took / STEPS / 1e3)
    return spent


def report(spent: dict[str, list[float]], windows: ProfileWindows, file: Path | None) -> None:
    base = statistics.median(spent["nothing"])
    calls = 2 * LAYERS
    print(f"torch {torch.__version__}, {os.cpu_count()} cores, a step with {calls} collectives")
    found = {}
    for name, values in spent.items():
        middle = statistics.median(values)
        more, least = (middle - base) / calls, (min(values) - min(spent["nothing"])) / calls
        found[name] = {"us_per_step": middle, "ratio": middle / base, "least_us_per_call": least}
        line = f"{name:24}{middle:8.0f} µs a step {middle / base:7.3f} x {more:6.1f} µs a call"
        print(f"{line} ({least:.1f} in the best blocks)")
    print(f"windows: {dict(windows.outcomes)}, {windows.spent_ns / windows.clock():.2%} of the time")
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
