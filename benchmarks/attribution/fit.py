"""Fits the evidence's weights on the calibration half of the corpus and writes `weights.json`.

    python -m benchmarks.attribution.fit --seeds 4 --requests 7000 [--build DIR] [--write]

Weights and priors: L2-penalised multinomial logistic with signs kept. Temperatures and the threshold t are
set on fault families left out one at a time; t is the lowest at which at most 5 % of the answers are wrong.
The frozen half is never read. Runs are made where they are missing; looking at one takes a second.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.attribution.corpus import BUILD, Corpus
from benchmarks.attribution.fitting.calibrate import (
    Answered,
    answers,
    family_of,
    left_out,
    temperatures,
    threshold,
)
from benchmarks.attribution.fitting.design import STAGES, design_of
from benchmarks.attribution.fitting.loss import Fitted, fit_weights
from benchmarks.attribution.fitting.seen import Seen, see
from benchmarks.attribution.fitting.start import start
from benchmarks.attribution.plan import FULL_REQUESTS, Planned, plan
from otel_attrib.analytics.evidence.layers import SIGNALS
from otel_attrib.analytics.evidence.signal import COLUMNS
from otel_attrib.analytics.evidence.weights import FILE, SCHEMA, Weights

METRICS = ("ttft", "tpot")


def weights_of(fitted: Fitted, heat: tuple[float, float], t: float) -> Weights:
    """Return what the product reads."""
    prior = {stage: fitted.prior[place] for place, stage in enumerate(STAGES)}
    names = [signal.name for signal in SIGNALS]
    return Weights(prior, dict(zip(names, map(float, fitted.weights), strict=True)), *heat, t)


def document(weights: Weights, fitted_on: dict[str, object]) -> dict[str, object]:
    """Return the JSON document."""
    return {
        "schema": SCHEMA,
        "fitted_on": fitted_on,
        "temperature": round(weights.temperature, 4),
        "temperature_p": round(weights.temperature_p, 4),
        "threshold": weights.threshold,
        "weights": {name: round(value, 4) for name, value in weights.weights.items()},
        "prior": {
            stage: {column: round(float(v), 4) for column, v in zip(COLUMNS, row, strict=True)}
            for stage, row in weights.prior.items()
        },
    }


def told(seen: Sequence[Seen], named: Sequence[Answered], t: float) -> dict[str, object]:
    """Return the figures of an answer at threshold t."""
    kept = [one for one in named if one[1] >= t]
    wrong = sum(not right for _, _, right, _ in kept)
    asked = sum(bool(one.truth.culprits) and not one.truth.faint for one in seen)
    clean = [one for one in seen if not one.truth.culprits]
    false = sum(not broken for _, _, _, broken in kept)
    return {
        "runs": len(seen),
        "to_name": asked,
        "named": len(kept),
        "wrong": wrong,
        "named_where_nothing_broke": f"{false} of {len(clean)}",
    }


def fit(seen: Sequence[Seen], runs: Sequence[Planned], requests: int) -> dict[str, object]:
    """Fit, calibrate on families left out, and return the document; figures go to standard error."""
    folds = left_out(seen, start())
    heat = temperatures(seen, folds)
    unseen = answers(seen, lambda one: weights_of(folds[family_of(one)], heat, 0.0), 0.0)
    t = threshold(unseen)
    for run, p, right, _ in sorted(unseen):
        if not right:
            print(f"  wrong: {run} p = {p:.3f}", file=sys.stderr)
    figures = told(seen, unseen, t)
    print(f"  families left out: {figures}; t = {t}, temperatures {heat}", file=sys.stderr)
    fitted = fit_weights(design_of(seen), start())
    return document(
        weights_of(fitted, heat, t),
        {
            "how": "benchmarks/attribution/fit.py, simulated fleets; temperatures and t on families left out",
            "runs": len(runs),
            "requests": requests,
            "families": sorted({run.family for run in runs}),
            "left_out": figures,
        },
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--requests", type=int, default=FULL_REQUESTS, help="in each window")
    parser.add_argument("--build", type=Path, default=BUILD)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--write", action="store_true", help=f"write {FILE.name}")
    args = parser.parse_args()
    runs = [run for run in plan(args.seeds, args.requests) if not run.frozen]
    corpus = Corpus(args.build, args.requests)
    corpus.make(runs, args.processes)
    seen = [
        one
        for metric in METRICS
        for one in see(corpus, runs, metric, args.processes)
        # How two faults share another metric than the truth's is not known.
        if metric == "ttft" or one.family != "two_faults"
    ]
    text = json.dumps(fit(seen, runs, args.requests), indent=1) + "\n"
    if args.write:
        FILE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
