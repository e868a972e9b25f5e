"""How well the change of P99 is split, on made requests whose truth is known: beside tail accounting.

Truth of a stage: the exact Shapley value (2^7 quantiles) between the same rows without and with the fault.
Truth of the workload: what the work alone does to P99, from 400 000 healthy rows of each window. The L1
error is the sum over stages of |answer − truth|; tail accounting is what the slowest requests spend, now
minus before. Figures are means over the seeds, but |sum − delta| is the worst of all.

    python benchmarks/attribution/core.py --requests 20000 --seeds 8 --json core.json
"""

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.attribution.made_requests import FAULTS, STAGES, Made, blocks_of, make
from benchmarks.attribution.shapley import shapley
from otel_attrib.analytics.change.decompose import Change, decompose
from otel_attrib.analytics.change.path import walk
from otel_attrib.analytics.columns import Floats
from otel_attrib.analytics.harrell_davis import quantile

LEVEL = 0.99
LARGE = 400_000


@dataclass(frozen=True)
class Score:
    """One fault: ms, but `inside` (share of the true stages in the 95 % intervals) and `seconds`."""

    fault: str
    delta: float
    true_stages: float
    true_workload: float
    ours: float
    tail: float
    stages: float
    workload: float
    unexplained: float
    path: float
    sum_error: float
    inside: float
    seconds: float


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--fault", action="append", choices=list(FAULTS), help="only this one; repeatable")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    scores = []
    print(_header())
    for fault in args.fault or FAULTS:
        scores.append(_measure(fault, args.requests, args.seeds))
        print(_line(scores[-1]), flush=True)
    if args.json:
        args.json.write_text(json.dumps([asdict(score) for score in scores], indent=2) + "\n")
    return 0


def _measure(fault: str, n: int, seeds: int) -> Score:
    work = 0.0
    if FAULTS[fault][1]:
        large = [quantile(make(name, LARGE, 1).healthy.values, LEVEL) for name in (fault, "nothing")]
        work = large[0] - large[1]
    runs = [_run(make("nothing", n, 2 * seed), make(fault, n, 2 * seed + 1)) for seed in range(1, seeds + 1)]
    mean, worst = np.mean(runs, axis=0).tolist(), float(np.max(np.array(runs)[:, -3]))
    return Score(fault, mean[0], mean[1], work, *mean[2:8], worst, *mean[9:])


def _run(before: Made, now: Made) -> list[float]:
    started = time.perf_counter()
    change = decompose(before.healthy, now.rows, LEVEL, blocks_of(before.healthy), blocks_of(now.rows))
    seconds = time.perf_counter() - started
    truth = shapley(now.healthy.parts[:, :-1], now.rows.parts[:, :-1], LEVEL)
    path = walk(now.healthy.parts[:, :-1], now.rows.parts[:, :-1], LEVEL).stages
    ours = np.array([change.stages[stage].value for stage in STAGES])
    tail = np.array([change.tail_accounting[stage].value for stage in STAGES])
    return [
        change.delta.value,
        float(truth.sum()),
        float(np.abs(ours - truth).sum()),
        float(np.abs(tail - truth).sum()),
        float(ours.sum()),
        change.workload.value,
        change.unexplained.value,
        float(np.abs(path - truth).max()),
        change.sum_error_ms,
        _inside(change, truth),
        seconds,
    ]


def _inside(change: Change, truth: Floats) -> float:
    spans = [change.stages[stage].interval() for stage in STAGES]
    held = [low <= true <= high for (low, high), true in zip(spans, truth.tolist(), strict=True)]
    return float(np.mean(held))


def _header() -> str:
    return (
        f"{'fault':27} {'delta':>7} {'true st':>7} {'true wl':>7} | {'L1 ours':>7} {'L1 tail':>7} {'ratio':>5} |"
        f" {'stages':>7} {'workl':>7} {'unexpl':>7} | {'path-Sh':>7} {'|S-d|':>7} {'in95':>4} {'s':>5}"
    )


def _line(s: Score) -> str:
    return (
        f"{s.fault:27} {s.delta:7.2f} {s.true_stages:7.2f} {s.true_workload:7.2f} | {s.ours:7.2f} {s.tail:7.2f}"
        f" {s.tail / max(s.ours, 1e-9):5.1f} | {s.stages:7.2f} {s.workload:7.2f} {s.unexplained:7.2f} |"
        f" {s.path:7.3f} {s.sum_error:7.0e} {s.inside:4.2f} {s.seconds:5.2f}"
    )


if __name__ == "__main__":
    sys.exit(main())
