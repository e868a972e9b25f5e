"""The figures of the proof over runs that were judged by hand."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.attribution import metrics
from benchmarks.attribution.case import Truth
from benchmarks.attribution.outcome import Outcome, only_where, overlap
from benchmarks.attribution.peers.answer import Answer
from benchmarks.attribution.resampling import mean_of, median_of, ratio_of


def truth(*culprits: str, faint: bool = False, verdict: str = "", **more: Any) -> Truth:
    """A truth of 100 ms, all of it the first culprit's."""
    layers = {culprits[0]: 100.0} if culprits else {}
    fixed: dict[str, Any] = {"layers_ms": layers, "stages_ms": {}, "rest_ms": 0.0}
    word = verdict or ("CAUSE" if culprits else "NO_REGRESSION")
    return Truth((word,), culprits, faint, **{**fixed, "delta_ms": 100.0, **more})


def outcome(true: Truth, layer: str | None, score: float = 0.5, run: str = "r", **more: Any) -> Outcome:
    """A judged run whose candidate is what was named."""
    return Outcome(run, "f", "fault", true, Answer(layer, score, **{"guess": layer, **more}))


HAND_MADE = (
    outcome(truth("gpu"), "gpu", 0.9, "a"),  # right
    outcome(truth("gpu", "pcie"), "pcie", 0.8, "b"),  # right: either of two
    outcome(truth("cpu"), "network", 0.7, "c"),  # wrong
    outcome(truth("cpu"), None, 0.1, "d", guess="cpu"),  # abstains; its candidate is right
    outcome(truth("nvlink", faint=True), None, 0.0, "e"),  # too small to be asked for
    outcome(truth(), None, 0.0, "f", verdict="NO_REGRESSION"),  # right silence
    outcome(truth(verdict="MIX"), "gpu", 0.6, "g", verdict="CAUSE"),  # false attribution
)


@pytest.mark.parametrize(
    ("name", "expected", "n"),
    [
        ("top1", 2 / 3, 3),
        ("wrong_when_answered", 2 / 4, 4),
        ("coverage", 3 / 4, 4),
        ("rightly_named", 2 / 4, 4),
        ("false_attribution", 1 / 2, 2),
    ],
    ids=["top1", "wrong", "coverage", "found", "false"],
)
def test_rates(name: str, expected: float, n: int) -> None:
    """Each rate counts the runs that it is about, and no others."""
    found = getattr(metrics, name)(HAND_MADE)

    assert pytest.approx(expected) == found.value
    assert n == found.n
    assert found.low <= found.value <= found.high


def test_faint_fault_named_rightly_is_not_wrong() -> None:
    """A fault too small for a rise may be named; another layer's name is wrong there too."""
    named = [outcome(truth("gpu", faint=True), layer) for layer in ("gpu", "cpu")]

    assert 0.5 == metrics.wrong_when_answered(named).value
    assert 0 == metrics.coverage(named).n


def test_verdicts_of_clean_runs() -> None:
    """Only runs without a broken layer are asked for MIX, LOAD or NO_REGRESSION."""
    assert 0.5 == metrics.verdict_accuracy(HAND_MADE).value
    assert 1 == metrics.confusion(HAND_MADE)["MIX", "CAUSE"]


def test_layer_error_counts_every_line() -> None:
    """60 of 100 ms right, 30 on a wrong layer, 10 on none: 40 + 30 + 10 over 100."""
    run = outcome(truth("gpu"), "gpu", layers_ms={"gpu": 60.0, "cpu": 30.0})

    assert pytest.approx(0.8) == metrics.layer_error([run]).value


def test_layer_error_of_no_change_is_unknown() -> None:
    """Nothing is divided by a change that is no rise."""
    run = outcome(truth("gpu", delta_ms=4.0), "gpu", layers_ms={"gpu": 60.0})

    assert 0 == metrics.layer_error([run]).n


def test_stages_are_judged_where_nothing_waited() -> None:
    """8 of 10 ms on the stage that was slow; with half of the change waiting, stages have no truth."""
    runs = [
        outcome(truth("gpu", delta_ms=10.0, stages_ms=true), "gpu", stages_ms={"prefill": 8.0})
        for true in ({"prefill": 10.0}, {"prefill": 5.0, "queue": 5.0})
    ]

    assert pytest.approx(0.2) == metrics.stage_error(runs).value
    assert 1 == metrics.stage_error(runs).n


def test_median_leaves_out_the_unknown() -> None:
    """Of 1, 2 and 9 the median is 2, and it lies in its interval."""
    found = median_of(np.array([1.0, np.nan, 9.0, 2.0]))

    assert (2.0, 3) == (found.value, found.n)
    assert found.low <= 2.0 <= found.high


def test_slices_are_compared_by_their_requests() -> None:
    """Two names of one slice are one; of 4 requests named and 2 true, 2 are shared: F1 = 2·2 / (4 + 2)."""
    requests = pa.table({"node": ["a", "a", "a", "a", "b"], "gpu_set": ["0,1", "0,1", "2", "2", "0"]})

    assert 1.0 == overlap(requests, {"gpu": "a:2"}, {"gpu_set": "2"})
    assert 1.0 == overlap(requests, {"gpu_set": "2"}, {"node": "a", "gpu_set": "2"})
    assert pytest.approx(2 / 3) == overlap(requests, {"node": "a"}, {"node": "a", "gpu_set": "1"})


def test_slice_f1_counts_silence_as_nought() -> None:
    """A fault whose slice is not named at all counts 0; a fault of the whole fleet is not asked for."""
    sliced = truth("gpu", where={"node": "n1"})
    runs = [
        replace(outcome(sliced, "gpu"), overlap=0.8),
        outcome(sliced, "gpu"),
        outcome(truth("gpu"), "gpu"),
    ]

    assert (0.4, 2) == (metrics.slice_f1(runs).value, metrics.slice_f1(runs).n)


def test_nothing_is_named_without_a_rise() -> None:
    """Behind the same test of a rise, a peer that always names something is silent on a quiet run."""
    quiet = only_where(outcome(truth(), "gpu"), rose=False)

    assert 0.0 == metrics.false_attribution([quiet]).value


def test_a_rise_is_found_or_not() -> None:
    """Of two faults one is found; of two runs without a rise one is an alarm; silence is not judged."""
    flat = truth(delta_ms=2.0)
    runs = [outcome(truth("gpu"), None, detected=said) for said in (True, False, None)]
    runs += [outcome(flat, None, detected=said) for said in (True, False)]

    assert (0.5, 2) == (metrics.detected(runs).value, metrics.detected(runs).n)
    assert (0.5, 2) == (metrics.false_alarms(runs).value, metrics.false_alarms(runs).n)


def test_risk_coverage_takes_the_surest_first() -> None:
    """Scores 0.9 right, 0.8 right, 0.7 wrong, 0.6 wrong (a null), 0.1 right, of seven runs."""
    covered, risk = metrics.risk_coverage(HAND_MADE)

    np.testing.assert_allclose(covered, np.arange(1, 6) / 7)
    np.testing.assert_allclose(risk, [0, 0, 1 / 3, 2 / 4, 2 / 5])


def test_calibration() -> None:
    """Ten runs said to be 0.8 sure of which eight are right are calibrated; Brier is then 0.16."""
    runs = [outcome(truth("gpu"), "gpu" if k < 8 else "cpu", 0.8) for k in range(10)]

    assert pytest.approx(0.0, abs=1e-12) == metrics.calibration_error(runs)
    assert pytest.approx(0.16) == metrics.brier(runs).value


def test_bootstrap_interval_is_binomial() -> None:
    """Of 400 runs with 100 right, the interval is that of the binomial: ±1.96·√(pq/n)."""
    right = np.repeat([1.0, 0.0], [100, 300])
    reach = 1.96 * math.sqrt(0.25 * 0.75 / 400)

    found = ratio_of(right, np.ones(400))

    assert pytest.approx(0.25 - reach, abs=0.006) == found.low
    assert pytest.approx(0.25 + reach, abs=0.006) == found.high


def test_no_failure_is_not_certainty() -> None:
    """None wrong of nine leaves room for one in three: 1 − 0.025^(1/9)."""
    found = ratio_of(np.zeros(9), np.ones(9))

    assert (0.0, 0.0) == (found.value, found.low)
    assert pytest.approx(0.3363, abs=1e-4) == found.high


def test_unknown_is_not_nought() -> None:
    """A mean leaves out what is unknown, and of nothing it is unknown."""
    assert 2.0 == mean_of(np.array([2.0, np.nan])).value
    assert math.isnan(mean_of(np.array([np.nan])).value)
