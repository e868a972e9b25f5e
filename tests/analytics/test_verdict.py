"""The rule of a verdict at its edges."""

import numpy as np
import pytest

from otel_attrib.analytics import harrell_davis
from otel_attrib.analytics.blocks import Counts
from otel_attrib.analytics.intervals import Estimate, difference, jackknife
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
        (certain(29.0, 10.0), "INSUFFICIENT"),
        (certain(20.0 + 0.83 * 10, 1.959963984540054 * 10), "NO_REGRESSION"),
        (certain(20.0 + 0.85 * 10, 1.959963984540054 * 10), "INSUFFICIENT"),
        (certain(139.0, 170.0), "INSUFFICIENT"),
        (certain(-50.0, 10.0), "NO_REGRESSION"),
        (certain(0.0, 399.0), "NO_REGRESSION"),
        (certain(0.0, 401.0), "INSUFFICIENT"),
        (Estimate(31.0, 0.0, 0.0), "INSUFFICIENT"),
        (Estimate(0.0, 0.0, 19.0), "NO_REGRESSION"),
    ],
    ids=[
        "21…41",
        "19…39",
        "p 0.797",
        "p 0.802",
        "-31…309",
        "fell",
        "doubling excluded",
        "doubling possible",
        "no blocks",
        "all equal",
    ],
)
def test_change_of_a_baseline_of_400_ms(delta: Estimate, expected: str) -> None:
    """The lower end decides against 20 ms; else what is likely (0.8 is 0.8416 deviations), or a doubling."""
    assert expected == judge_change(TTFT, delta, 400.0).word


def test_a_likely_rise_is_no_all_clear() -> None:
    """A rise that is likely and not sure is said with its size and its probability."""
    reason = judge_change(TTFT, certain(139.0, 170.0), 373.0).reason

    assert "a rise of +139 ms is likely but not sure: it is above 18.7 ms with p = 0.92" in reason


@pytest.mark.parametrize("n", [500, 1000, 2000])
@pytest.mark.parametrize("sigma", [0.3, 0.6, 0.9])
def test_equal_windows_are_mostly_an_all_clear(n: int, sigma: float) -> None:
    """Two windows of the same log-normal latency: at P99 no regression in 80 % of pairs, a rise in 5 %."""
    random = np.random.default_rng([n, round(10 * sigma)])
    words = [
        judge_change(TTFT, difference(b, a), a.value).word
        for a, b in ([p99(300 * np.exp(sigma * random.standard_normal(n))) for _ in "ab"] for _ in range(120))
    ]

    assert words.count("NO_REGRESSION") >= 0.8 * len(words)
    assert words.count("GLOBAL") <= 0.05 * len(words)


def test_equal_windows_on_the_whole() -> None:
    """Over sizes and spreads together the all-clear is given in 85 % of pairs of equal windows."""
    random = np.random.default_rng(5)
    words = []
    for pair in range(180):
        n, sigma = (500, 1000, 2000)[pair % 3], (0.3, 0.6, 0.9)[pair // 3 % 3]
        a, b = (p99(300 * np.exp(sigma * random.standard_normal(n))) for _ in range(2))
        words.append(judge_change(TTFT, difference(b, a), a.value).word)

    assert words.count("NO_REGRESSION") >= 0.85 * len(words)


def p99(values: np.ndarray) -> Estimate:
    """P99 with the error that 20 blocks of time give it."""
    block = np.arange(values.size) * 20 // values.size
    without = np.array([[harrell_davis.quantile(values[block != b], 0.99)] for b in range(20)])
    return jackknife(np.array([harrell_davis.quantile(values, 0.99)]), without, np.bincount(block))[0]


@pytest.mark.parametrize(
    ("window", "level", "expected"),
    [
        (counts([25] * 20), 0.99, None),
        (counts([25] * 19 + [24]), 0.99, "499 values in the baseline leave 4 above P99; 5 are needed"),
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
