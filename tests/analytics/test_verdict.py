"""The rule of a verdict at its edges."""

import numpy as np
import pytest

from otel_attrib.analytics.blocks import Counts
from otel_attrib.analytics.intervals import Estimate
from otel_attrib.analytics.metric import METRICS, Metric
from otel_attrib.analytics.verdict import judge_change, judge_data, threshold

TTFT, TPOT = METRICS["ttft"], METRICS["tpot"]


def counts(sizes: list[int], expected: int = 100, answered: int = 100) -> Counts:
    """A window whose blocks hold `sizes` values."""
    return Counts(sum(sizes), 0, expected, answered, 0, 0, {}, np.array(sizes, dtype=np.int64))


def certain(value: float, reach: float) -> Estimate:
    """An estimate whose 95 % interval is value ± reach (1.95996… normal deviations)."""
    return Estimate(value, (reach / 1.959963984540054) ** 2, 1e7)


@pytest.mark.parametrize(
    ("metric", "baseline_ms", "expected"),
    [(TTFT, 400.0, 20.0), (TTFT, 40.0, 5.0), (TPOT, 40.0, 2.0), (TPOT, 8.0, 0.5)],
    ids=["5 %", "5 ms", "TPOT 5 %", "TPOT 0.5 ms"],
)
def test_threshold(metric: Metric, baseline_ms: float, expected: float) -> None:
    """A rise counts above 5 % of the baseline, and above 5 ms for a first token or 0.5 ms for a next one."""
    assert expected == threshold(metric, baseline_ms)


@pytest.mark.parametrize(
    ("delta", "expected"),
    [
        (certain(31.0, 10.0), "GLOBAL"),
        (certain(29.0, 10.0), "NO_REGRESSION"),
        (certain(-50.0, 10.0), "NO_REGRESSION"),
        (certain(0.0, 399.0), "NO_REGRESSION"),
        (certain(0.0, 401.0), "INSUFFICIENT"),
        (Estimate(31.0, 0.0, 0.0), "INSUFFICIENT"),
        (Estimate(0.0, 0.0, 19.0), "NO_REGRESSION"),
    ],
    ids=["21…41", "19…39", "fell", "doubling excluded", "doubling possible", "no blocks", "all equal"],
)
def test_change_of_a_baseline_of_400_ms(delta: Estimate, expected: str) -> None:
    """The lower end decides against 20 ms; without a rise, the upper end against a doubling."""
    assert expected == judge_change(TTFT, delta, 400.0).word


@pytest.mark.parametrize(
    ("window", "level", "expected"),
    [
        (counts([25] * 20), 0.99, None),
        (counts([25] * 19 + [24]), 0.99, "499 values in the baseline leave 4.99 above P99; 5 are needed"),
        (counts([5] * 20), 0.95, None),
        (counts([100] * 8), 0.99, None),
        (counts([100] * 7), 0.99, "lie in 7 of its blocks of time and node; 8 are needed"),
        (counts([50] * 20, answered=90), 0.99, None),
        (counts([50] * 20, answered=89), 0.99, "only 89 % of the baseline's requests are measured"),
        (counts([]), 0.5, "holds no measured request"),
    ],
)
def test_data(window: Counts, level: float, expected: str | None) -> None:
    """Each limit lets its own value pass, and one less is refused with the numbers."""
    verdict = judge_data("the baseline", window, level)

    if expected is None:
        assert verdict is None
    else:
        assert verdict is not None
        assert "INSUFFICIENT" == verdict.word
        assert expected in verdict.reason
