"""How far is the model fleet from a real engine? Two recorded vLLM 0.19 runs on RTX PRO 6000 cards.

The same requests (queued at the same moments, of the same lengths) go through one simulated replica without
any chance. The card's two efficiencies are fitted on the Llama-3.1-8B run alone and then held against the
Qwen3-32B run on two cards, which nothing was fitted on. Relative errors are against the measured time of each
request, and against 10 ms where that is less.

    python -m benchmarks.attribution.fleet_check [--fit] [--json FILE]
"""

import argparse
import gzip
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from otel_attrib.analytics.columns import Floats, Ints
from otel_attrib.fleet.engine import kernel, quiet
from otel_attrib.fleet.scenario import Fleet, Scenario, Workload

__all__ = ["RUNS", "Recorded", "errors", "recorded", "simulated"]

FIXTURES = Path(__file__).parents[2] / "tests/fixtures/llmservingsim"
RUNS = {"llama-3.1-8b": 1, "qwen3-32b": 2}
"""Model → tensor parallelism of its run."""
FLOOR_S = 0.010


@dataclass(frozen=True)
class Recorded:
    """One run: stamps in seconds from its first request, ascending by `queued`, and lengths in tokens."""

    queued: Floats
    scheduled: Floats
    first: Floats
    last: Floats
    prompt: Ints
    output: Ints

    def times(self) -> dict[str, Floats]:
        """Return what is compared, in seconds."""
        after = np.maximum(self.output - 1, 1)
        return {
            "queue": self.scheduled - self.queued,
            "prefill": self.first - self.scheduled,
            "token": (self.last - self.first) / after,
            "TTFT": self.first - self.queued,
            "E2E": self.last - self.queued,
        }


def recorded(model: str) -> Recorded:
    """Read one run."""
    with gzip.open(FIXTURES / f"{model}.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    names = ("queued_ts", "scheduled_ts", "first_token_ts", "last_token_ts")
    stamps = np.array([[row[name] for name in names] for row in rows])
    lengths = np.array([[row["input_toks"], row["output_toks"]] for row in rows], dtype=np.int64)
    order = np.argsort(stamps[:, 0], kind="stable")
    seconds = (stamps - stamps[:, 0].min())[order]
    return Recorded(*seconds.T, *lengths[order].T)


def simulated(model: str, real: Recorded, compute: float = 0.0, memory: float = 0.0) -> Recorded:
    """Send the run's requests through the model; 0 stands for the card's own efficiencies."""
    ranks = RUNS[model]
    fleet = Fleet(
        nodes=1,
        gpus_per_node=ranks,
        card="rtx_pro_6000",
        model=model,
        tp=ranks,
        compute_efficiency=compute,
        memory_efficiency=memory,
    )
    scenario = Scenario("check", fleet=fleet, workload=Workload())
    nothing = np.zeros(real.queued.size, dtype=np.int64)
    served, _ = quiet(scenario, model, real.queued, real.prompt, real.output, nothing)
    column = {name: served[:, place] for place, name in enumerate(kernel().REQUEST)}
    return Recorded(
        real.queued, column["scheduled"], column["first"], column["last"], real.prompt, real.output
    )


def errors(real: Recorded, made: Recorded) -> dict[str, Floats]:
    """Return each request's relative error of each time."""
    return {
        name: np.abs(made.times()[name] - value) / np.maximum(value, FLOOR_S)
        for name, value in real.times().items()
    }


def fit() -> tuple[float, float]:
    """Return the two efficiencies with the least median error of prefill and token time on Llama."""
    real = recorded("llama-3.1-8b")

    def worth(pair: tuple[float, float]) -> float:
        found = errors(real, simulated("llama-3.1-8b", real, *pair))
        return float(np.median(found["prefill"]) + np.median(found["token"]))

    grid = [(c / 100, m / 100) for c in range(40, 75, 5) for m in range(70, 101, 5)]
    return min(grid, key=worth)


def table(model: str, real: Recorded, made: Recorded) -> str:
    found, lines = errors(real, made), [f"{model}, {len(real.queued)} requests, {RUNS[model]} card(s)"]
    lines.append(
        f"  {'':8}{'real median':>13}{'model':>11}{'real P99':>11}{'model':>11}{'error':>8}{'P90':>8}"
    )
    for name, value in real.times().items():
        mine = made.times()[name]
        cells = [np.median(value), np.median(mine), np.quantile(value, 0.99), np.quantile(mine, 0.99)]
        text = "".join(f"{cell * 1e3:>11,.1f}" for cell in cells)
        shares = f"{np.median(found[name]):>8.1%}{np.quantile(found[name], 0.9):>8.1%}"
        lines.append(f"  {name:8}  {text}{shares}")
    return "\n".join(lines)


def records(model: str, real: Recorded, made: Recorded) -> list[dict[str, str | float]]:
    """Return the same figures, a record a stage; times in ms, errors as shares."""
    found, mine = errors(real, made), made.times()
    return [
        {
            "model": model,
            "time": name,
            "real_median_ms": 1e3 * float(np.median(value)),
            "simulated_median_ms": 1e3 * float(np.median(mine[name])),
            "real_p99_ms": 1e3 * float(np.quantile(value, 0.99)),
            "simulated_p99_ms": 1e3 * float(np.quantile(mine[name], 0.99)),
            "error_median": float(np.median(found[name])),
            "error_p90": float(np.quantile(found[name], 0.9)),
        }
        for name, value in real.times().items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fit", action="store_true", help="fit the efficiencies anew on Llama and use them")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    compute, memory = fit() if args.fit else (0.0, 0.0)
    if compute:
        print(f"fitted on llama-3.1-8b: compute {compute}, memory {memory}")
    told = []
    for model in RUNS:
        real = recorded(model)
        made = simulated(model, real, compute, memory)
        print(table(model, real, made))
        told += records(model, real, made)
    if args.json:
        args.json.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
