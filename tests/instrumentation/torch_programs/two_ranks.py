"""Two ranks over gloo, run by an interpreter that has torch: what our parts say beside two other clocks.

Prints one JSON line: per rank our sums, the caller's own stopwatch around each call, torch.profiler's sum of
its collective operators, our shares of a window, and the calls' arguments and results unharmed.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.profiler import ProfilerActivity, profile

from otel_attrib.instrumentation.shim import FAULTS, Patches
from otel_attrib.instrumentation.torch.calls import watch_collectives
from otel_attrib.instrumentation.torch.parts import StepParts
from otel_attrib.instrumentation.torch.window import ProfileWindows

ROUNDS = 40
ELEMENTS = 1 << 18
LATE_S = 0.004


def rank_of(rank: int, store: str, answers: Any) -> None:
    """One rank: steps of products and three collectives; rank 1 comes late to those of the second half."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    plain = dist.all_reduce
    patches, parts = Patches(), StepParts()
    watch_collectives(parts, patches)
    told: dict[str, Any] = {"rank": rank, "sums_right": True}
    for half, late in (("even", 0.0), ("late", LATE_S)):
        told[half] = _steps(rank, parts, late if rank == 1 else 0.0, told)
    told["profiled"] = _beside_the_profiler(parts)
    told["window"] = _window(parts)
    told["wrapped"] = dist.all_reduce is not plain
    patches.restore()
    told["restored"] = dist.all_reduce is plain
    told["faults"] = dict(FAULTS.counts)
    answers.put(told)
    dist.barrier()
    dist.destroy_process_group()


def _steps(rank: int, parts: StepParts, late: float, told: dict[str, Any]) -> dict[str, float]:
    matrix = torch.ones(96, 96)
    own = ours = forward = size = 0
    for _ in range(ROUNDS):
        step = parts.begin()
        with parts.part("forward"):
            for _ in range(5):
                matrix = torch.nn.functional.normalize(matrix @ matrix)
            if late:
                time.sleep(late)
            own += _collectives(rank, told)
        parts.end()
        found = parts.read(step)
        assert found is not None
        ours += found.collective
        forward += found.forward
        size += found.collective_bytes
        assert found.collective <= found.forward <= found.ended - found.started
    return {"ours_ns": ours, "own_ns": own, "forward_ns": forward, "bytes": size}


def _collectives(rank: int, told: dict[str, Any]) -> int:
    """Three collectives by their public names, timed by a stopwatch of our own beside them."""
    mine, both = torch.full((ELEMENTS,), float(rank + 1)), torch.empty(2 * ELEMENTS)
    half = torch.empty(ELEMENTS // 2)
    spent = 0
    calls: list[Callable[[], Any]] = [
        lambda: dist.all_reduce(mine),
        lambda: dist.all_gather_into_tensor(both, mine),
        lambda: dist.broadcast(half, src=0),
    ]
    for call in calls:
        before = time.perf_counter_ns()
        call()
        spent += time.perf_counter_ns() - before
    told["sums_right"] &= bool((mine == 3).all()) and bool((both == 3).all())
    return spent


def _beside_the_profiler(parts: StepParts) -> dict[str, float]:
    """The same calls under torch.profiler, which times gloo's own work."""
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        step = parts.begin()
        for _ in range(ROUNDS):
            dist.all_reduce(torch.ones(ELEMENTS))
        parts.end()
    found = parts.read(step)
    assert found is not None
    theirs = sum(event.cpu_time_total for event in seen.events() if event.name == "gloo:all_reduce")
    return {"ours_ns": found.collective, "profiler_ns": theirs * 1e3}


def _window(parts: StepParts) -> dict[str, Any]:
    """One window of ours over a step that mostly multiplies, then rests."""
    windows = ProfileWindows(1, most=0.0)
    matrix = torch.ones(384, 384)
    windows.before()
    parts.begin()
    before = time.perf_counter_ns()
    for _ in range(10):
        matrix = matrix @ matrix / 384
    busy = time.perf_counter_ns() - before
    dist.all_reduce(torch.ones(ELEMENTS))
    resting = time.perf_counter_ns()
    time.sleep(0.03)
    rested = time.perf_counter_ns() - resting
    whole = time.perf_counter_ns() - before
    parts.end()
    windows.after()
    (shares,) = windows.take()
    return {
        "shares": shares.shares,
        "idle": rested / whole,
        "busy": busy / whole,
        "spent_ns": windows.spent_ns,
    }


if __name__ == "__main__":
    queue = mp.get_context("spawn").Queue()
    ranks = mp.start_processes(rank_of, (sys.argv[1], queue), nprocs=2, join=False, start_method="spawn")
    answers = sorted((queue.get(timeout=60) for _ in range(2)), key=lambda told: told["rank"])
    while not ranks.join():
        pass
    print(json.dumps(answers))
