"""How well the change of P99 is split, on made requests whose truth is known: beside tail accounting.

Truth of a stage: the exact Shapley value (2^7 quantiles) between the same rows without and with the fault.
Truth of the workload: what the work alone does to P99, over pairs made of the same random numbers. The L1
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
PAIRS = 24


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
    work = _work(fault, n) if FAULTS[fault].longer else 0.0
    runs = [_run(make("nothing", n, 2 * seed), make(fault, n, 2 * seed + 1)) for seed in range(1, seeds + 1)]
    mean, worst = np.mean(runs, axis=0).tolist(), float(np.max(np.array(runs)[:, -3]))
    ours, tail, stages, workload, unexplained, path = mean[2:8]
    return Score(
        fault, mean[0], mean[1], work, ours, tail, stages, workload, unexplained, path, worst, *mean[9:]
    )


def _work(fault: str, n: int) -> float:
    """Return the mean change of P99 by the work alone: the same random numbers but for longer prompts."""
    pairs = [(make(fault, n, seed), make("nothing", n, seed)) for seed in range(1000, 1000 + PAIRS)]
    return float(
        np.mean([quantile(b.healthy.values, LEVEL) - quantile(a.healthy.values, LEVEL) for b, a in pairs])
    )


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


TITLES = "delta,true st,true wl,L1 ours,L1 tail,stages,workl,unexpl,path-Sh,sum err,in 95,s".split(",")
FORMATS = {"path": "7.3f", "sum_error": "7.0e"}


def _header() -> str:
    return f"{'fault':26} " + " ".join(f"{title:>7}" for title in TITLES)


def _line(score: Score) -> str:
    numbers = asdict(score)
    fault = numbers.pop("fault")
    return f"{fault:26} " + " ".join(
        f"{number:{FORMATS.get(key, '7.2f')}}" for key, number in numbers.items()
    )


if __name__ == "__main__":
    sys.exit(main())
