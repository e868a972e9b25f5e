"""The figures of the proof, the same for the product and every peer, from lists of judged runs.

All rates are over runs, with bootstrap intervals. L1 errors are Σ |answered − true| over lines, by run,
divided by ΔP99 of that run; runs whose change is no rise are left out, since nothing is divided there.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.attribution.outcome import Outcome
from benchmarks.attribution.resampling import Figure, mean_of, median_of, ratio_of

__all__ = [
    "brier",
    "calibration_error",
    "confusion",
    "coverage",
    "detected",
    "exactness",
    "false_alarms",
    "false_attribution",
    "figures",
    "layer_error",
    "layer_errors",
    "median_layer_error",
    "rightly_named",
    "risk_coverage",
    "seconds",
    "slice_f1",
    "stage_error",
    "top1",
    "verdict_accuracy",
    "wrong_when_answered",
]

Floats = NDArray[np.float64]
Runs = Sequence[Outcome]
QUEUE_SHARE = 0.2


def _flags(runs: Runs, says: Callable[[Outcome], bool]) -> Floats:
    return np.array([float(says(run)) for run in runs])


def top1(runs: Runs) -> Figure:
    """Return how often the layer named is right, among faults for which one was named."""
    named = _flags(runs, lambda r: r.fault and r.answered)
    return ratio_of(named * _flags(runs, lambda r: r.right), named)


def wrong_when_answered(runs: Runs) -> Figure:
    """Return P(wrong | answered) over all runs, nulls and decoys among them."""
    named = _flags(runs, lambda r: r.answered)
    return ratio_of(named * _flags(runs, lambda r: not r.right), named)


def coverage(runs: Runs) -> Figure:
    """Return the share of faults for which a layer was named."""
    fault = _flags(runs, lambda r: r.fault)
    return ratio_of(fault * _flags(runs, lambda r: r.answered), fault)


def rightly_named(runs: Runs) -> Figure:
    """Return the share of faults whose layer was named."""
    fault = _flags(runs, lambda r: r.fault)
    return ratio_of(fault * _flags(runs, lambda r: r.right), fault)


def false_attribution(runs: Runs) -> Figure:
    """Return how often a layer was named although nothing was broken."""
    clean = _flags(runs, lambda r: r.clean)
    return ratio_of(clean * _flags(runs, lambda r: r.answered), clean)


def verdict_accuracy(runs: Runs) -> Figure:
    """Return how often the word was the true one where nothing was broken (MIX, LOAD, NO_REGRESSION)."""
    judged = _flags(runs, lambda r: r.clean and bool(r.answer.verdict))
    return ratio_of(judged * _flags(runs, lambda r: r.answer.verdict in r.truth.verdicts), judged)


def confusion(runs: Runs) -> dict[tuple[str, str], int]:
    """Return how many runs have each pair of true and answered verdict, in the order of the words."""
    pairs = [("/".join(run.truth.verdicts), run.answer.verdict or "-") for run in runs]
    return {pair: pairs.count(pair) for pair in sorted(set(pairs))}


def _l1(found: dict[str, float], true: dict[str, float], run: Outcome) -> float:
    if run.truth.delta_ms <= run.truth.rise_ms:
        return np.nan
    names = sorted(found.keys() | true.keys())
    return sum(abs(found.get(name, 0.0) - true.get(name, 0.0)) for name in names) / run.truth.delta_ms


def layer_errors(runs: Runs) -> Floats:
    """Return Σ |ms − true ms| / |ΔP99| over the layers and the rest of ΔP99, by run; NaN where none is given.

    The rest is what a method puts on no layer (workload, load, unexplained), against what no fault did.
    """
    return np.array([_layer_error(run) for run in runs], dtype=np.float64)


def _layer_error(run: Outcome) -> float:
    answer, truth = run.answer, run.truth
    if answer.layers_ms is None:
        return np.nan
    rest = truth.delta_ms - sum(answer.layers_ms.values())
    true = {**truth.layers_ms, "rest": truth.rest_ms}
    return _l1({**answer.layers_ms, "rest": rest}, true, run)


def layer_error(runs: Runs) -> Figure:
    """Return the mean layer error over the runs with a rise, whatever made it."""
    return mean_of(layer_errors(runs))


def median_layer_error(runs: Runs) -> Figure:
    """Return the median of the same errors."""
    return median_of(layer_errors(runs))


def stage_error(runs: Runs) -> Figure:
    """Return the mean stage error over faults with little waiting behind them.

    Paired runs say how long requests waited, not which stage they waited for: above a fifth of waiting the
    stages have no truth.
    """
    return mean_of(np.array([_stage_error(run) for run in runs], dtype=np.float64))


def _stage_error(run: Outcome) -> float:
    answer, true = run.answer, run.truth.stages_ms
    waiting = abs(true.get("queue", 0.0)) > QUEUE_SHARE * run.truth.delta_ms
    if answer.stages_ms is None or not run.fault or waiting:
        return np.nan
    return _l1({name: answer.stages_ms.get(name, 0.0) for name in true}, true, run)


def slice_f1(runs: Runs) -> Figure:
    """Return the mean F1 of the requests in the slices named, over faults of a slice; none named is 0.

    A method that names no slices at all has none.
    """
    judged = [run for run in runs if run.fault and run.truth.where]
    if not any(run.overlap is not None for run in judged):
        return mean_of(np.array([np.nan]))
    return mean_of(np.array([run.overlap or 0.0 for run in judged]))


def detected(runs: Runs) -> Figure:
    """Return how often a rise was found where a fault made one."""
    judged = _flags(runs, lambda r: r.fault and r.answer.detected is not None)
    return ratio_of(judged * _flags(runs, lambda r: bool(r.answer.detected)), judged)


def false_alarms(runs: Runs) -> Figure:
    """Return how often a rise was found where P99 rose by less than what counts as one."""
    quiet = _flags(runs, lambda r: r.truth.delta_ms <= r.truth.rise_ms and r.answer.detected is not None)
    return ratio_of(quiet * _flags(runs, lambda r: bool(r.answer.detected)), quiet)


def risk_coverage(runs: Runs) -> tuple[Floats, Floats]:
    """Return (coverage, risk) as more and more runs are answered, the surest first.

    Every run with a candidate can be answered; its risk is 1 where the candidate is not broken. Coverage is
    the share of all runs. Ties are taken in the order of the runs' names.
    """
    able = sorted((r for r in runs if r.answer.guess), key=lambda r: (-r.answer.score, r.run))
    wrong = np.array([float(not run.guessed_right) for run in able])
    count = np.arange(1, len(able) + 1)
    return count / max(1, len(runs)), np.cumsum(wrong) / np.maximum(count, 1)


def brier(runs: Runs) -> Figure:
    """Return the mean squared difference of the score, read as a probability, and being right."""
    able = [run for run in runs if run.answer.guess]
    return mean_of(np.array([(run.answer.score - run.guessed_right) ** 2 for run in able]))


def calibration_error(runs: Runs, bins: int = 10) -> float:
    """Return the expected calibration error: mean |score − share right| over bins of equal width."""
    able = [run for run in runs if run.answer.guess]
    if not able:
        return float("nan")
    score = np.clip([run.answer.score for run in able], 0.0, 1.0)
    right = np.array([float(run.guessed_right) for run in able])
    slots = np.minimum((score * bins).astype(int), bins - 1)
    off = [abs(score[slots == b].mean() - right[slots == b].mean()) * (slots == b).mean() for b in set(slots)]
    return float(sum(sorted(off)))


def exactness(runs: Runs) -> float:
    """Return the largest error of the sum of lines in ms."""
    return max((r.answer.sum_error_ms for r in runs if r.answer.sum_error_ms is not None), default=np.nan)


def seconds(runs: Iterable[Outcome]) -> float:
    """Return the median time per run."""
    return float(np.median([run.answer.seconds for run in runs]))


def figures(runs: Runs) -> dict[str, Figure]:
    """Return the figures of one method, by name."""
    return {
        "top1": top1(runs),
        "wrong": wrong_when_answered(runs),
        "coverage": coverage(runs),
        "found": rightly_named(runs),
        "false": false_attribution(runs),
        "verdict": verdict_accuracy(runs),
        "layer_l1": layer_error(runs),
        "layer_l1_median": median_layer_error(runs),
        "stage_l1": stage_error(runs),
        "slice_f1": slice_f1(runs),
        "brier": brier(runs),
    }
