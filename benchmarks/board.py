"""What the board costs: a request's span that is marked from it, and a batch that the agent puts on it.

A request reads its own cards and the host; the span around it takes 20 µs to build and 80 to export. Figures
are medians of `--repeats` runs of this thread's CPU time.

    python benchmarks/board.py --json build/bench/board.json
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from otel_attrib.collector.agent.board import Board
from otel_attrib.collector.agent.readings import Layouts
from otel_attrib.collector.agent.source import series
from otel_attrib.instrumentation.board import indices, seen
from otel_attrib.schema.board import BOARD

CALLS = 500
CARDS = 8
FIELDS = ("sm_activity", "sm_occupancy", "dram_activity", "gpu_utilization", "gpu_clock", "gpu_throttle_time")
TENTH_NS = 100_000_000
REQUEST_NS = 3_000_000_000


def per_call(work: Callable[[], object], repeats: int) -> float:
    """Microseconds of this thread's CPU for a call, the median of several runs."""
    found = []
    for _ in range(repeats):
        start = time.thread_time_ns()
        for _ in range(CALLS):
            work()
        found.append((time.thread_time_ns() - start) / CALLS / 1e3)
    return statistics.median(found)


def filled(path: Path) -> tuple[Board, Callable[[], None]]:
    """A board of the last four minutes of eight cards at ten a second, and what puts one more batch on it."""
    board, layouts = Board(path), Layouts()
    cards = [series(field, str(card)) for card in range(CARDS) for field in FIELDS]
    waits = [series("run_queue_wait", process__pid=str(pid)) for pid in range(12)]
    named = [
        series("gpu_memory_limit", str(card), slatag__gpu__uuid=f"GPU-{card}f00") for card in range(CARDS)
    ]
    now, count = time.time_ns(), [0]

    def put() -> None:
        count[0] += 1
        at = now - (2400 - count[0]) * TENTH_NS
        for batch in (cards, waits):
            taken, _ = layouts.taken([(one, 0.5) for one in batch])
            board.take(at, taken)

    board.take(now, layouts.taken([(one, 8e10) for one in named])[0])
    for _ in range(2400):
        put()
    return board, put


def rows(repeats: int) -> list[dict[str, Any]]:
    """Every figure with its name."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "board"
        os.environ[BOARD] = str(path)
        board, put = filled(path)
        end = time.monotonic_ns()
        assert seen(end - REQUEST_NS, end, "n:0")
        sets = {"1 card": "n:0", "8 cards": "n:0,1,2,3,4,5,6,7"}
        found = {
            f"a request on {name}": per_call(lambda d=devices: seen(end - REQUEST_NS, end, d), repeats)  # type: ignore[misc]
            for name, devices in sets.items()
        }
        found["a request, UUIDs as indices"] = per_call(lambda: indices("GPU-0f00,GPU-1f00"), repeats)
        attributes = len(seen(end - REQUEST_NS, end, sets["8 cards"]))
        found["a batch of 8 cards and 12 processes"] = per_call(put, repeats)
        board.close()
        os.environ[BOARD] = str(Path(folder) / "none")
    told = [{"what": what, "us": round(us, 2)} for what, us in found.items()]
    return [*told, {"what": "attributes on the span", "us": attributes}]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found = rows(args.repeats)
    for row in found:
        print(f"{row['what']:<40}{row['us']:>10}")
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
